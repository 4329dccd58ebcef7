// Which files the watch for kills reads, and how.

#include <fcntl.h>
#include <sys/xattr.h>

#include <string>
#include <utility>

#include "probe/cgroup_memory.hpp"
#include "probe/oom.hpp"
#include "probe/oom_text.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;
using record::Value;

constexpr std::size_t kBufferBytes = 1 << 15;

base::File open_file(const std::string& path) {
  return base::File::try_open(path.c_str(), O_RDONLY);
}

}  // namespace

OomWatch::OomWatch(const std::string& root, pid_t pid, const Cgroups& cgroups, ReadMark read_mark)
    : root_(root), pid_(pid), read_mark_(read_mark == nullptr ? ::fgetxattr : read_mark) {
  if (pid_ <= 0) return;
  status_ = open_file(root_ + "/proc/" + std::to_string(pid_) + "/status");
  open(cgroups);
}

void OomWatch::open(const Cgroups& cgroups) {
  move_ = cgroups.moves();
  ceilings_.clear();
  directories_.clear();
  hidden_limit_bytes_ = kNoLimit;
  const Group memory = cgroups.find(Controller::kMemory);
  all_visible_ = memory.true_root || !memory.there();
  open_kills(memory);
  open_ceilings(memory);
  for (Group group = cgroups.find_unified(); group.there() && !group.is_root(); group.go_up()) {
    base::File directory = base::File::try_open(group.directory().c_str(), O_RDONLY | O_DIRECTORY);
    if (directory.valid()) directories_.push_back(std::move(directory));
    if (group.at_mount()) break;
  }
  std::vector<char> buffer(kBufferBytes);
  read(buffer);
  for (Ceiling& ceiling : ceilings_) {
    ceiling.first_peak_bytes = Scanner(read_control(ceiling.peak, buffer))
                                   .number()
                                   .value_or(unknown(State::kNotSupported));
  }
  settle();
}

void OomWatch::add_kills(const std::string& path, std::span<char> buffer) {
  Count kills;
  kills.file = open_file(path);
  if (!kills.file.valid()) return;
  if (!record::is_known(parse_oom_events(read_control(kills.file, buffer)).kills)) return;
  kills_.push_back(std::move(kills));
}

// Version 1 counts a kill in the group of the killed alone, version 2 in its ancestors, too: as
// long as it can be read, only the process's own group says that it may have been the process.
void OomWatch::open_kills(Group group) {
  std::vector<char> buffer(kBufferBytes);
  kills_.clear();
  if (group.there() && !group.unified && group.own) {
    add_kills(group.directory() + "/memory.oom_control", buffer);
  } else if (group.there() && group.unified) {
    if (group.own) add_kills(group.directory() + "/memory.events.local", buffer);
    for (; !group.is_root(); group.go_up()) {
      add_kills(group.directory() + "/memory.events", buffer);
      if (group.at_mount()) break;
    }
  }
  if (kills_.empty()) add_kills(root_ + "/proc/vmstat", buffer);
}

void OomWatch::open_ceilings(Group group) {
  if (!group.there()) return;
  bool own = group.own;
  if (!group.unified && !group.true_root) {
    std::vector<char> buffer(kBufferBytes);
    const base::File stat = open_file(group.directory() + "/memory.stat");
    const Value limit = parse_memory_stat(read_control(stat, buffer)).limit_bytes;
    if (stat.valid() && record::is_known(limit)) hidden_limit_bytes_ = limit;
  }
  for (; !group.is_root(); group.go_up()) {
    add_ceiling(group, own, "memory.");
    if (!group.unified) add_ceiling(group, own, "memory.memsw.");
    own = false;
    if (group.at_mount()) break;
  }
}

void OomWatch::add_ceiling(const Group& group, bool own, const char* prefix_v1) {
  Ceiling ceiling;
  ceiling.group = group.path();
  ceiling.own = own;
  ceiling.unified = group.unified;
  const std::string folder = group.directory() + "/";
  if (group.unified) {
    ceiling.limit = open_file(folder + "memory.max");
    ceiling.hits = open_file(folder + "memory.events.local");
    if (!ceiling.hits.valid()) ceiling.hits = open_file(folder + "memory.events");
    ceiling.usage = open_file(folder + "memory.current");
    ceiling.peak = open_file(folder + "memory.peak");
  } else {
    ceiling.limit = open_file(folder + prefix_v1 + "limit_in_bytes");
    ceiling.hits = open_file(folder + prefix_v1 + "failcnt");
    ceiling.usage = open_file(folder + prefix_v1 + "usage_in_bytes");
    ceiling.peak = open_file(folder + prefix_v1 + "max_usage_in_bytes");
  }
  if (ceiling.limit.valid()) ceilings_.push_back(std::move(ceiling));
}

}  // namespace probe
