#pragma once
// What there is to use: the node's online cores and memory, and what of them a process may use:
// its affinity, the limits of its groups, the words of its job.

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "probe/cgroup.hpp"
#include "probe/limits.hpp"
#include "probe/missing.hpp"
#include "probe/slurm.hpp"
#include "probe/usable.hpp"

namespace probe {

class Capacity {
 public:
  // `pid` <= 0: the node only. Looks once. What can't be read is empty or 0. What Slurm says that
  // is no number goes to `missing`.
  Capacity(const std::string& root, pid_t pid, MissingList* missing = nullptr);

  // Looks again when the last look is a second old (15 us of CPU, 120 when caches are cold): cores
  // may go offline, anybody may change the affinity or a limit or move the process, memory may be
  // plugged. Allocates only when something has changed.
  void look(std::int64_t now_ns) noexcept;

  // Since the last call: anything of what follows but the limits on swap and processes.
  bool changed() noexcept;

  [[nodiscard]] const std::vector<std::int64_t>& online() const noexcept { return online_; }
  // Usable ones: of the affinity, and online. Stays as it was when the process has ended.
  [[nodiscard]] const std::vector<std::int64_t>& affinity() const noexcept { return affinity_; }
  // Of the node.
  [[nodiscard]] std::int64_t memory_bytes() const noexcept { return memory_bytes_; }

  // Of levels `process` and `job`: the smallest of affinity, quota and Slurm's word, of the node's
  // memory, limit and Slurm's word.
  [[nodiscard]] const Usable& usable() const noexcept { return usable_; }

  [[nodiscard]] const Cgroups& cgroups() const noexcept { return cgroups_; }
  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }

 private:
  void read();
  bool read_cores(std::span<char> buffer);
  void combine();

  base::File online_file_;
  base::File status_file_;
  base::File memory_file_;
  std::string online_text_;
  std::string allowed_text_;
  std::vector<std::int64_t> online_;
  std::vector<std::int64_t> affinity_;
  std::int64_t memory_bytes_ = 0;
  Cgroups cgroups_;
  Limits limits_;
  std::uint32_t move_of_limits_ = 0;
  SlurmWords slurm_;
  Usable usable_;
  std::int64_t looked_ns_ = 0;
  bool changed_ = false;
};

}  // namespace probe
