#pragma once
// Lists of core numbers, as /sys and /proc write them.

#include <cstdint>
#include <string_view>
#include <vector>

namespace probe {

inline constexpr std::int64_t kMostCores = 8192;  // the largest NR_CPUS of x86-64

// Parses "0-3,8,10-11" (/sys/devices/system/cpu/online, Documentation/admin-guide/cputopology.rst;
// Cpus_allowed_list of /proc/PID/status): ascending, each core once. What isn't a range or a
// number below kMostCores is left out.
std::vector<std::int64_t> parse_core_list(std::string_view text);

}  // namespace probe
