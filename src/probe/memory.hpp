#pragma once
// /proc/meminfo (the node's memory) and /proc/PID/smaps_rollup (a process's share of it).

#include <cstdint>
#include <optional>
#include <string_view>

namespace probe {

struct MemoryInfo {
  std::int64_t total_bytes = 0;
  std::optional<std::int64_t> available_bytes;  // Linux 3.14 and later
};

// Parses /proc/meminfo (proc(5); Documentation/filesystems/proc.rst, "meminfo"). nullopt without
// MemTotal.
//
//   MemTotal:       24684084 kB
//   MemFree:        24509736 kB
//   MemAvailable:   24428680 kB
std::optional<MemoryInfo> parse_meminfo(std::string_view text) noexcept;

struct MemorySizes {
  std::int64_t resident_bytes = 0;
  std::int64_t proportional_bytes = 0;  // shared pages divided among those who map them
};

// Parses /proc/PID/smaps_rollup (Documentation/ABI/testing/procfs-smaps_rollup, Linux 4.14).
// nullopt unless both lines are there.
//
//   55a3c8265000-7ffda3ee7000 ---p 00000000 00:00 0                          [rollup]
//   Rss:                1736 kB
//   Pss:                 545 kB
std::optional<MemorySizes> parse_smaps_rollup(std::string_view text) noexcept;

}  // namespace probe
