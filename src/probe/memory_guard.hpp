#pragma once
// How near memory is to the limits that kill: those of the process's control groups and all their
// ancestors, and the machine's. Page cache that can be given up doesn't count, swap is no room.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "probe/cgroup.hpp"
#include "record/records.hpp"

namespace probe {

class MemoryGuard {
 public:
  // `root`: where proc/ and sys/ lie.
  MemoryGuard(std::string root, pid_t pid);

  // A cell begins. Where memory is over the mark already (variables of earlier cells), it may still
  // use half of what is left: it may be the one that frees them.
  void begin_cell(double percent, std::span<char> buffer) noexcept;

  // The first limit of which `percent` are in use, once for each cell. Costs one small file for
  // each limit (1 us), and memory.stat (30 us) of one whose use, cache included, is over the mark.
  std::optional<record::NearLimit> look(double percent, std::int64_t now_ns,
                                        std::span<char> buffer) noexcept;

  // What can be taken before the nearest limit; kNoLimit where nothing is known.
  [[nodiscard]] std::int64_t room_bytes(std::span<char> buffer) const noexcept;

  // When the next look is due: what is left could be used up by then, but never in less than 1 ms
  // or more than 100.
  [[nodiscard]] std::int64_t next_ns() const noexcept { return next_ns_; }

 private:
  struct Ceiling {
    std::string source;  // "the limit of control group /slurm/job_7"
    base::File limit_file;
    base::File usage_file;
    base::File stat_file;
    std::int64_t limit_bytes = 0;  // kNoLimit: none
    std::int64_t mark_bytes = 0;   // of this cell
    bool hidden = false;           // the limit of an ancestor that isn't visible here
  };

  void open_groups();
  // And marks anew what has another limit than before, or everything.
  void read_limits(double percent, bool all, std::span<char> buffer) noexcept;
  static std::int64_t limit_of(const Ceiling& ceiling, std::span<char> buffer) noexcept;
  // Without page cache; the exact value only from `least_bytes` on. nullopt: unknown.
  static std::optional<std::int64_t> use_of(const Ceiling& ceiling, std::int64_t least_bytes,
                                            std::span<char> buffer) noexcept;

  std::string root_;
  Cgroups cgroups_;
  std::uint32_t moves_ = 0;
  std::vector<Ceiling> ceilings_;  // the last one is the machine's
  std::int64_t limits_ns_ = 0;     // when they were read
  std::int64_t next_ns_ = 0;
  bool fired_ = false;
};

}  // namespace probe
