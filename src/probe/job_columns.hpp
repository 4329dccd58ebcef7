#pragma once
// The columns of level `job`.

#include <array>
#include <cstddef>
#include <string_view>

#include "record/records.hpp"

namespace probe {

enum JobColumn : std::size_t {
  kJobCpuTime,
  kJobThrottled,
  kJobThrottledPeriods,
  kJobMemory,
  kJobMemoryIsUpperBound,
  kJobMemoryCache,
  kJobMemoryAnonymous,
  kJobMemoryPeak,
  kJobSwap,
  kJobOomKills,
  kJobStorageReadBytes,
  kJobStorageWriteBytes,
  kJobStorageReadOps,
  kJobStorageWriteOps,
  kJobThreads,
  kJobProcesses,
  kJobPressureCpuSome,
  kJobPressureMemorySome,
  kJobPressureMemoryFull,
  kJobPressureIoSome,
  kJobPressureIoFull,
  kJobCapacityMillicores,
  kJobCapacityMemory,
};
inline constexpr std::size_t kJobColumns = kJobCapacityMemory + 1;

struct JobColumnName {
  std::string_view name;
  record::Kind kind;
};

inline constexpr std::array<JobColumnName, kJobColumns> kJobColumnNames{{
    {"job.cpu_time_ns", record::Kind::kCounter},
    // Time in which a core was held back by the quota, added up over the cores; and the periods.
    {"job.throttled_ns", record::Kind::kCounter},
    {"job.throttled_periods", record::Kind::kCounter},
    // In use: without the part of the page cache that is given back first.
    {"job.memory_bytes", record::Kind::kGauge},
    {"job.memory_is_upper_bound", record::Kind::kGauge},
    {"job.memory_cache_bytes", record::Kind::kGauge},
    // What can't be given back: anonymous and shared memory.
    {"job.memory_anonymous_bytes", record::Kind::kGauge},
    {"job.memory_peak_bytes", record::Kind::kGauge},  // of all, page cache too
    {"job.swap_bytes", record::Kind::kGauge},
    {"job.oom_kills", record::Kind::kCounter},
    {"job.storage_read_bytes", record::Kind::kCounter},
    {"job.storage_write_bytes", record::Kind::kCounter},
    {"job.storage_read_ops", record::Kind::kCounter},
    {"job.storage_write_ops", record::Kind::kCounter},
    {"job.threads", record::Kind::kGauge},
    {"job.processes", record::Kind::kGauge},
    {"job.pressure_cpu_some_ns", record::Kind::kCounter},
    {"job.pressure_memory_some_ns", record::Kind::kCounter},
    {"job.pressure_memory_full_ns", record::Kind::kCounter},
    {"job.pressure_io_some_ns", record::Kind::kCounter},
    {"job.pressure_io_full_ns", record::Kind::kCounter},
    {"job.capacity_millicores", record::Kind::kGauge},
    {"job.capacity_memory_bytes", record::Kind::kGauge},
}};

}  // namespace probe
