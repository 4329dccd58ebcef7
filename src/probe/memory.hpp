#pragma once
// /proc/meminfo (the node's memory) and /proc/PID/smaps_rollup (a process's share of it).

#include <cstdint>
#include <optional>
#include <string_view>

#include "record/value.hpp"

namespace probe {

struct MemoryInfo {
  std::int64_t total_bytes = 0;
  std::optional<std::int64_t> available_bytes;  // Linux 3.14 and later
  // unknown(kNotSupported) where the text doesn't have what they are made of.
  // Files' pages that can be given up when others need memory: Buffers + Cached + SReclaimable -
  // Shmem. (Shared memory and tmpfs are in Cached, and can't.)
  record::Value cache_bytes = record::unknown(record::State::kNotSupported);
  record::Value swap_total_bytes = record::unknown(record::State::kNotSupported);
  record::Value swap_used_bytes = record::unknown(record::State::kNotSupported);
};

// Parses /proc/meminfo (proc(5); Documentation/filesystems/proc.rst, "meminfo"). nullopt without
// MemTotal.
//
//   MemTotal:       24684084 kB
//   MemFree:        24509736 kB
//   MemAvailable:   24428680 kB
//   Buffers:           31100 kB
//   Cached:          2871408 kB
//   SwapTotal:             0 kB
//   SwapFree:              0 kB
//   Shmem:              8872 kB
//   SReclaimable:     227916 kB
std::optional<MemoryInfo> parse_meminfo(std::string_view text) noexcept;

struct MemorySizes {
  std::int64_t resident_bytes = 0;
  std::int64_t proportional_bytes = 0;  // shared pages divided among those who map them
  // SwapPss, else Swap (which counts shared pages in everybody).
  record::Value swap_bytes = record::unknown(record::State::kNotSupported);
};

// Parses /proc/PID/smaps_rollup (Documentation/ABI/testing/procfs-smaps_rollup, Linux 4.14).
// nullopt unless Rss and Pss are there.
//
//   55a3c8265000-7ffda3ee7000 ---p 00000000 00:00 0                          [rollup]
//   Rss:                1736 kB
//   Pss:                 545 kB
//   Swap:                  0 kB
//   SwapPss:               0 kB
std::optional<MemorySizes> parse_smaps_rollup(std::string_view text) noexcept;

}  // namespace probe
