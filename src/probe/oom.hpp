#pragma once
// Whether a process that got a SIGKILL got it for want of memory: counts of the control groups it
// is in, of the machine, and marks of systemd-oomd, compared with those of the look before.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "probe/cgroup.hpp"
#include "probe/cgroup_cpu.hpp"
#include "record/records.hpp"

namespace probe {

// Memory of the node as last read; unknown where nobody reads it.
struct NodeMemory {
  record::Value used_bytes = record::unknown(record::State::kNotYet);
  record::Value total_bytes = record::unknown(record::State::kNotYet);
};

class OomWatch {
 public:
  // Reads an extended attribute of an open directory into `buffer`; its length, < 0: there is none.
  using ReadMark = ssize_t (*)(int directory_fd, const char* name, void* buffer, std::size_t size);

  OomWatch() = default;
  // Opens the files of the groups of `pid` and of all their ancestors that are visible, and keeps
  // them: a group may be gone after the death. Looks once.
  OomWatch(const std::string& root, pid_t pid, const Cgroups& cgroups,
           ReadMark read_mark = nullptr);

  // Once a tick; does nothing but when the turn is `full` (once a second, and at the edges of
  // cells) or a kill was seen at the last look. Costs 1 us of CPU a file: three or four for each
  // group of version 2, four to six of version 1, where swap has a limit of its own; 40 us where
  // only the machine counts kills. Allocates only when the process has been moved. What was killed
  // up to now was somebody else, unless the process is on its way out.
  void look(const Cgroups& cgroups, bool full, const NodeMemory& node,
            std::span<char> buffer) noexcept;

  // After the process has been killed by SIGKILL, of which the caller knows: the end, without its
  // time, when it was for want of memory since the last look; else nullopt. So a child that was
  // killed for memory less than a second before anything else killed the process is mistaken for
  // the process (less than one tick once the look has seen the child's kill).
  [[nodiscard]] std::optional<record::End> end(std::span<char> buffer);

 private:
  // One limit of one group: hit when its count of hits has risen.
  struct Ceiling {
    std::string group;  // as /proc/PID/cgroup spells it
    bool own = false;   // the process's own group
    bool unified = false;
    base::File hits;  // version 2: memory.events.local, "oom"; 1: memory.failcnt
    base::File limit;
    base::File usage;
    base::File peak;
    std::int64_t limit_bytes = kNoLimit;
    record::Value hits_now = record::unknown(record::State::kNotYet);
    record::Value hits_before = record::unknown(record::State::kNotYet);
    record::Value first_peak_bytes = record::unknown(record::State::kNotYet);
    record::Value highest_bytes = record::unknown(record::State::kNotYet);  // sampled

    [[nodiscard]] bool there() const noexcept { return limit_bytes != kNoLimit; }
    [[nodiscard]] bool was_hit() const noexcept;
    [[nodiscard]] bool was_near() const noexcept;  // nine tenths of it and more were used
    [[nodiscard]] record::Value peak_now(std::span<char> buffer) const noexcept;
  };
  // How many were killed, and what it was at the last look.
  struct Count {
    base::File file;
    record::Value before = record::unknown(record::State::kNotYet);
    record::Value now = record::unknown(record::State::kNotYet);
  };

  void open(const Cgroups& cgroups);
  void open_ceilings(Group group);
  void open_kills(Group group);
  void add_ceiling(const Group& group, bool own, const char* prefix_v1);
  void add_kills(const std::string& path, std::span<char> buffer);
  void read(std::span<char> buffer) noexcept;
  void read_ceiling(Ceiling& ceiling, std::span<char> buffer) const noexcept;
  [[nodiscard]] record::Value marks() const noexcept;
  [[nodiscard]] bool somebody_was_killed() const noexcept;
  void settle() noexcept;
  [[nodiscard]] bool root_is_dying(std::span<char> buffer) const noexcept;
  [[nodiscard]] const Ceiling* guilty() const noexcept;
  [[nodiscard]] bool machine_is_guilty() const noexcept;
  void tell_limit(const Ceiling* ceiling, record::End& end, std::span<char> buffer) const;

  std::string root_;
  pid_t pid_ = 0;
  ReadMark read_mark_ = nullptr;
  std::uint32_t move_ = 0;
  base::File status_;
  std::vector<Count> kills_;                    // the first that can be read tells
  std::vector<Ceiling> ceilings_;               // nearest first
  bool all_visible_ = false;                    // no ancestor is hidden
  std::vector<base::File> directories_;         // of version 2, where marks are
  std::int64_t hidden_limit_bytes_ = kNoLimit;  // of some ancestor that can't be seen, version 1
  NodeMemory node_;
  record::Value node_highest_bytes_ = record::unknown(record::State::kNotYet);
  record::Value marks_before_ = 0;
  record::Value marks_now_ = 0;
  bool unsettled_ = false;  // a kill was seen, and the process was well
  bool doomed_ = false;     // a kill was seen, and the process was on its way out
};

}  // namespace probe
