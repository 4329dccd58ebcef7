#pragma once
// What a group says of cores: its quota, what it has used, how long it was held back.

#include <cstdint>
#include <optional>
#include <string_view>

#include "record/value.hpp"

namespace probe {

// What a limit is when there is none.
inline constexpr std::int64_t kNoLimit = INT64_MAX;

// The quota of cpu.max in thousandths of a core, or kNoLimit; nullopt when it isn't one. "$MAX
// $PERIOD" in microseconds (Documentation/admin-guide/cgroup-v2.rst); the period may be left out.
//
//   200000 100000
//   max 100000
std::optional<std::int64_t> parse_cpu_max(std::string_view text) noexcept;

// The same from cpu.cfs_quota_us ("-1": none) and cpu.cfs_period_us of version 1
// (Documentation/scheduler/sched-bwc.rst).
//
//   50000
std::optional<std::int64_t> parse_cfs_quota(std::string_view quota,
                                            std::string_view period) noexcept;

// Counters; unknown(kNotSupported) where the text has no such line.
struct CgroupCpu {
  record::Value usage_ns = record::unknown(record::State::kNotSupported);
  record::Value throttled_ns = record::unknown(record::State::kNotSupported);
  record::Value throttled_periods = record::unknown(record::State::kNotSupported);
};

// Parses cpu.stat. Version 2 counts microseconds, version 1 nanoseconds (throttled_time); usage is
// in version 2 only (version 1: cpuacct.usage). Time that several cores were held back at once
// counts for each of them.
//
//   usage_usec 17977452393
//   nr_periods 0
//   nr_throttled 0
//   throttled_usec 0
CgroupCpu parse_cpu_stat(std::string_view text) noexcept;

}  // namespace probe
