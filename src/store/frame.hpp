#pragma once
// One row of one level, taken out of the recording's columns by their names.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "record/records.hpp"
#include "record/rows.hpp"

namespace store {

enum Counter : std::size_t {
  kCpuTime,
  kIoReadBytes,
  kIoWriteBytes,
  kIoReadOps,
  kIoWriteOps,
  kStorageReadBytes,
  kStorageWriteBytes,
};
inline constexpr std::size_t kCounters = 7;
inline constexpr std::array<std::string_view, kCounters> kCounterNames{
    "cpu_time_ns",  "io_read_bytes",      "io_write_bytes",     "io_read_ops",
    "io_write_ops", "storage_read_bytes", "storage_write_bytes"};

enum Gauge : std::size_t {
  kMemory,
  kMemoryIsUpperBound,
  kResident,
  kProcesses,
  kThreads,
  kCapacityMillicores,
  kCapacityMemory,
};
inline constexpr std::size_t kGauges = 7;
inline constexpr std::array<std::string_view, kGauges> kGaugeNames{
    "memory_bytes",        "memory_is_upper_bound", "rss_bytes", "processes", "threads",
    "capacity_millicores", "capacity_memory_bytes"};

struct Frame {
  std::int64_t time_ns = 0;
  bool edge = false;
  std::array<record::Value, kCounters> total{};  // of the whole level, as the sampler saw it
  std::array<record::Value, kCounters> root{};   // the root process's part (level process only)
  std::array<record::Value, kGauges> gauge{};
};

// Where one level's columns stand in a schema.
class LevelColumns {
 public:
  LevelColumns(const record::Schema& schema, std::string_view level);

  // False when the schema has nothing of the level.
  [[nodiscard]] bool present() const noexcept { return present_; }
  // Columns that aren't there give "not supported".
  [[nodiscard]] Frame frame(const record::Rows& rows, std::size_t row) const noexcept;

 private:
  using Place = std::optional<std::size_t>;
  bool present_ = false;
  std::array<Place, kCounters> total_{};
  std::array<Place, kCounters> root_{};
  std::array<Place, kGauges> gauge_{};
};

}  // namespace store
