#pragma once
// What a process may use, and which of its bounds is the tightest, in words.

#include <cstdint>
#include <string>

#include "probe/limits.hpp"
#include "probe/slurm.hpp"

namespace probe {

inline constexpr std::size_t kMostSourceBytes = 160;

struct Usable {
  std::int64_t millicores = 0;    // 0: not known
  std::int64_t memory_bytes = 0;  // 0: not known
  // "affinity of the kernel process; memory limit of cgroup /kubepods (4 GiB)", ASCII, at most
  // kMostSourceBytes: of a long path the end is shown.
  std::string source;

  bool operator==(const Usable&) const = default;
};

// `cores`: of the affinity, and online; `memory_bytes`: of the node; 0 when not known. Of equal
// bounds the first one of these counts, then the limits, then Slurm.
Usable usable_of(std::int64_t cores, std::int64_t memory_bytes, const Limits& limits,
                 const SlurmWords& slurm);

}  // namespace probe
