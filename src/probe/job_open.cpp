// Which files level `job` reads, and what it says of those that aren't there.

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>

#include "base/error.hpp"
#include "probe/job.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

constexpr std::size_t kBufferBytes = 1 << 15;
constexpr std::string_view kNoGroup = "its cgroup of that controller is the root, or can't be seen";

}  // namespace

Job::Job(const std::string& root, const Capacity& capacity, MissingList& missing)
    : root_(root), capacity_(capacity), missing_(missing) {
  columns_.reserve(kJobColumns);
  for (const auto& column : kJobColumnNames) {
    columns_.push_back({std::string(column.name), column.kind});
  }
  open();
}

void Job::open() {
  const Cgroups& cgroups = capacity_.cgroups();
  move_ = cgroups.moves();
  const JobGroups groups = job_groups(cgroups);
  in_job_ = !groups.name.empty();
  values_.fill(unknown(State::kNotSupported));
  if (!in_job_) {
    origin_ = "no cgroup";
    const bool seen = cgroups.find(Controller::kMemory).there() ||
                      cgroups.find(Controller::kCpu).there() || cgroups.find_unified().there();
    missing_.say("job", State::kNotSupported,
                 seen ? "this process is in no job: its cgroup is the root"
                      : "this process is in no job: no cgroup can be seen");
    return;
  }
  origin_ = "cgroup " + groups.name;

  unified_cpu_ = groups.usage.unified;
  usage_ = open_part(groups.usage, unified_cpu_ ? "cpu.stat" : "cpuacct.usage", {"cpu_time_ns"});
  cpu_directory_ = groups.cpu.there() ? groups.cpu.directory() : "";
  throttled_directory_.clear();
  throttled_ = {};
  unified_memory_ = groups.memory.unified;
  const auto memory = [&](const char* name_v1, const char* name_v2, std::string_view metric) {
    return open_part(groups.memory, unified_memory_ ? name_v2 : name_v1, {metric});
  };
  memory_ = memory("memory.usage_in_bytes", "memory.current", "memory_bytes");
  memory_stat_ = memory("memory.stat", "memory.stat", "memory_cache_bytes");
  if (!memory_stat_.file.valid()) {
    missing_.say("job.memory_anonymous_bytes", memory_stat_.state, "memory.stat can't be opened");
  }
  memory_peak_ = memory("memory.max_usage_in_bytes", "memory.peak", "memory_peak_bytes");
  swap_ =
      unified_memory_ ? open_part(groups.memory, "memory.swap.current", {"swap_bytes"}) : Part();
  inactive_file_bytes_ = unknown(memory_stat_.state);
  stat_is_dear_ = false;
  kills_.clear();
  for (const auto& directory : groups.kill_directories) {
    const char* name = unified_memory_ ? "/memory.events" : "/memory.oom_control";
    kills_.push_back({base::File::try_open((directory + name).c_str(), O_RDONLY)});
  }
  threads_ = open_part(groups.pids, "pids.current", {"threads"});
  io_ = groups.io.there() ? JobIo(root_, groups.io) : JobIo();
  constexpr std::array kPressureFiles{"cpu.pressure", "memory.pressure", "io.pressure"};
  for (std::size_t i = 0; i < pressure_.size(); ++i) {
    pressure_[i] = groups.unified.there()
                       ? open_part(groups.unified, kPressureFiles[i], {"pressure"})
                       : Part();
  }
  std::vector<char> buffer(kBufferBytes);
  read_all(buffer, true);
  say_rest(groups);
}

Job::Part Job::open_part(const Group& group, const char* name,
                         std::initializer_list<std::string_view> metrics) {
  Part part;
  std::string reason(kNoGroup);
  if (group.there()) {
    part.file = base::File::try_open((group.directory() + "/" + name).c_str(), O_RDONLY);
    if (part.file.valid()) return part;
    if (errno == EACCES || errno == EPERM) part.state = State::kNotPermitted;
    reason = std::string("cannot open ") + name + " of its cgroup: " + base::errno_text(errno);
  }
  for (const auto metric : metrics) {
    missing_.say(std::string("job.").append(metric), part.state, reason);
  }
  return part;
}

void Job::follow_throttling() noexcept {
  const Limit& quota = capacity_.limits().cpu_millicores();
  const std::string& wanted = quota.there() ? quota.directory : cpu_directory_;
  if (wanted == throttled_directory_) return;
  try {
    throttled_directory_ = wanted;
    throttled_.file = base::File::try_open((wanted + "/cpu.stat").c_str(), O_RDONLY);
  } catch (const std::exception&) {
    throttled_directory_.clear();  // no memory: at the next full turn
  }
  counters_[kJobThrottled].go_on_elsewhere();
  counters_[kJobThrottledPeriods].go_on_elsewhere();
}

void Job::say_rest(const JobGroups& groups) {
  const auto say = [&](JobColumn column, std::string_view reason) {
    const State state = record::state_of(values_[column]);
    if (state != State::kMeasured) missing_.say(columns_[column].name, state, reason);
  };
  const std::string_view cpu_reason =
      groups.cpu.there() ? "the CPU controller is off for its cgroup" : kNoGroup;
  say(kJobThrottled, cpu_reason);
  say(kJobThrottledPeriods, cpu_reason);
  say(kJobSwap, "swap isn't accounted to cgroups here");
  say(kJobOomKills, "its cgroup doesn't count them");
  say(kJobProcesses, "the system counts the threads of a cgroup, not its processes");
  std::string_view io_reason = kNoGroup;
  if (groups.io.there()) {
    io_reason = groups.io.unified ? "the storage controller is off for its cgroup"
                                  : "its cgroup has named no device: this kernel may count only "
                                    "those that it holds back";
  }
  for (const JobColumn column :
       {kJobStorageReadBytes, kJobStorageWriteBytes, kJobStorageReadOps, kJobStorageWriteOps}) {
    say(column, io_reason);
    if (io_.valid() && io_.without_descendants()) {
      missing_.say(columns_[column].name, State::kMeasured,
                   "lower bound: cgroups below the job's aren't counted");
    }
  }
  if (io_.valid() && !groups.io.unified) {
    missing_.say("job.storage_write_bytes", State::kMeasured,
                 "lower bound: cgroups of version 1 don't count what is written later");
  }
  if (!groups.unified.there()) {
    missing_.say("job.pressure", State::kNotSupported,
                 "only cgroups of version 2 tell it, and there its cgroup is the root");
  }
  if (values_[kJobMemoryIsUpperBound] == 1) {
    missing_.say("job.memory_bytes", State::kMeasured, "upper bound: includes page cache");
  }
}

}  // namespace probe
