#pragma once
// How much the groups of a process let it have: the smallest limit of its group and all ancestors.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "probe/cgroup.hpp"
#include "probe/cgroup_cpu.hpp"

namespace probe {

struct Limit {
  std::int64_t amount = kNoLimit;
  std::string group;      // whose it is, as /proc/PID/cgroup spells it
  std::string directory;  // where its files lie
  // Some ancestor of `group` gives it, which isn't visible here (containers, version 1).
  bool above = false;

  [[nodiscard]] bool there() const noexcept { return amount != kNoLimit; }
  bool operator==(const Limit&) const = default;
};

class Limits {
 public:
  // No limits.
  Limits() = default;
  // Opens the files of the groups and their ancestors, and reads them.
  explicit Limits(const Cgroups& cgroups);

  // Reads again (1 us a file). True when a limit or its group is another one than before. A group
  // that was removed keeps its last limit; one that gets a file later is seen within ten calls.
  // Allocates only when something has changed.
  bool read(std::span<char> buffer);

  // CPU quota in thousandths of a core.
  [[nodiscard]] const Limit& cpu_millicores() const noexcept { return limits_[kCpu]; }
  [[nodiscard]] const Limit& memory_bytes() const noexcept { return limits_[kMemory]; }
  // Swap alone. (Version 1 limits memory and swap together: that, less the memory limit.)
  [[nodiscard]] const Limit& swap_bytes() const noexcept { return limits_[kSwap]; }
  // Processes and threads together, and the limit of the process's own group, which others share
  // least.
  [[nodiscard]] const Limit& pids() const noexcept { return limits_[kPids]; }
  [[nodiscard]] std::int64_t own_group_pids() const noexcept { return own_group_pids_; }

 private:
  enum Kind : std::uint8_t { kCpu, kMemory, kSwap, kPids };
  enum class Format : std::uint8_t { kMax, kAmount, kCfsQuota, kMemoryStat };

  // One file that may hold a limit.
  struct Ceiling {
    Kind kind = kCpu;
    Format format = Format::kMax;
    std::string group;
    std::string directory;
    std::string path;         // of the file
    std::string period_path;  // of the period, for kCfsQuota
    base::File file;
    base::File period;
    std::int64_t amount = kNoLimit;
  };

  void add(Kind kind, Format format, const Group& group, const char* name);
  void add_chain(Kind kind, Format format, Group group, const char* name);
  static void open(Ceiling& ceiling) noexcept;
  static void read(Ceiling& ceiling, std::span<char> buffer) noexcept;
  bool take_smallest();

  std::vector<Ceiling> ceilings_;  // of each kind nearest first
  std::array<Limit, 4> limits_;
  std::int64_t own_group_pids_ = kNoLimit;
  bool memory_and_swap_ = false;  // the ceilings of kSwap limit both together
  unsigned reads_ = 0;
};

}  // namespace probe
