#include "probe/capacity.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "probe/cores.hpp"
#include "probe/memory.hpp"
#include "probe/process_stat.hpp"
#include "probe/usable.hpp"

namespace probe {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kBufferBytes = 1 << 15;  // a list of every second of 8192 cores is 20 kB
constexpr std::size_t kMostEnvironmentBytes = 1 << 20;

base::File open_below(const std::string& root, const std::string& path) {
  return base::File::try_open((root + "/" + path).c_str(), O_RDONLY);
}

SlurmWords read_slurm_words(const std::string& root, pid_t pid) {
  const std::string path = root + "/proc/" + std::to_string(pid) + "/environ";
  for (std::size_t limit = 1 << 14; limit <= kMostEnvironmentBytes; limit *= 8) {
    const auto text = base::read_small_file(path, limit);
    if (!text) break;
    if (text->size() < limit) return parse_slurm_environment(*text);
  }
  return {};
}

void say_nonsense(const SlurmWords& slurm, MissingList& missing) {
  for (const auto& word : slurm.nonsense) {
    const bool cores = word.starts_with("SLURM_CPUS");
    missing.say(cores ? "job.capacity_millicores" : "job.capacity_memory_bytes",
                record::State::kMeasured, "upper bound: this is no number: " + word);
  }
}

}  // namespace

Capacity::Capacity(const std::string& root, pid_t pid, MissingList* missing)
    : online_file_(open_below(root, "sys/devices/system/cpu/online")),
      memory_file_(open_below(root, "proc/meminfo")),
      looked_ns_(base::monotonic_ns()) {
  if (pid > 0) {
    status_file_ = open_below(root, "proc/" + std::to_string(pid) + "/status");
    cgroups_ = Cgroups(root, pid);
    limits_ = Limits(cgroups_);
    slurm_ = read_slurm_words(root, pid);
    if (missing != nullptr) say_nonsense(slurm_, *missing);
  }
  read();
  changed_ = false;
}

void Capacity::look(std::int64_t now_ns) noexcept {
  if (now_ns - looked_ns_ < kSecondNs) return;
  looked_ns_ = now_ns;
  try {
    read();
  } catch (const std::exception&) {
    return;  // no memory: it stays as it was for another second
  }
}

bool Capacity::changed() noexcept { return std::exchange(changed_, false); }

void Capacity::read() {
  std::array<char, kBufferBytes> buffer;
  bool changed = usable_.source.empty();
  const auto memory = parse_meminfo(base::read_text(memory_file_.fd(), buffer));
  if (memory && memory->total_bytes != memory_bytes_) {
    memory_bytes_ = memory->total_bytes;
    changed = true;
    changed_ = true;
  }
  changed = read_cores(buffer) || changed;
  cgroups_.look(buffer);
  if (cgroups_.moves() != move_of_limits_) {
    limits_ = Limits(cgroups_);
    move_of_limits_ = cgroups_.moves();
    changed = true;
  } else {
    changed = limits_.read(buffer) || changed;
  }
  if (changed) combine();
}

bool Capacity::read_cores(std::span<char> buffer) {
  bool changed = false;
  const auto online = base::read_text(online_file_.fd(), buffer);
  if (!online.empty() && online != online_text_) {
    online_ = parse_core_list(online);
    online_text_ = online;
    changed = true;
  }
  const auto allowed = parse_status_cores(base::read_text(status_file_.fd(), buffer));
  if (!allowed.empty() && allowed != allowed_text_) {
    allowed_text_ = allowed;
    changed = true;
  }
  if (!changed) return false;
  affinity_.clear();
  const auto all_allowed = parse_core_list(allowed_text_);
  if (online_.empty()) {
    affinity_ = all_allowed;  // no /sys: what the process may use is all that is known
  } else {
    std::ranges::set_intersection(all_allowed, online_, std::back_inserter(affinity_));
  }
  changed_ = true;
  return true;
}

void Capacity::combine() {
  const auto cores = static_cast<std::int64_t>(affinity_.size());
  Usable usable = usable_of(cores, memory_bytes_, limits_, slurm_);
  if (usable == usable_) return;
  usable_ = std::move(usable);
  changed_ = true;
}

}  // namespace probe
