#pragma once
// Recordings made up for tests: the truth is written down first, then a cell is summarised.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/memory.hpp"
#include "record/log.hpp"
#include "store/recording.hpp"
#include "store/summary.hpp"

namespace synthetic {

inline constexpr std::int64_t kMs = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kMiB = 1 << 20;
inline constexpr std::int64_t kStart = 100 * kSecond;  // when the cells of most tests begin
inline constexpr std::int64_t kWall = 1'700'000'000 * kSecond;

// The columns of both levels in a fixed order; node has no I/O but storage.
inline std::vector<std::string> process_columns() {
  std::vector<std::string> names;
  for (const char* prefix : {"process.", "process.root_"}) {
    for (const char* name : {"cpu_time_ns", "io_read_bytes", "io_write_bytes", "io_read_ops",
                             "io_write_ops", "storage_read_bytes", "storage_write_bytes"}) {
      names.push_back(std::string(prefix) + name);
    }
  }
  for (const char* name : {"memory_bytes", "memory_is_upper_bound", "rss_bytes", "processes",
                           "threads", "capacity_millicores", "capacity_memory_bytes"}) {
    names.push_back(std::string("process.") + name);
  }
  return names;
}

inline std::vector<std::string> node_columns() {
  return {"node.cpu_time_ns",
          "node.storage_read_bytes",
          "node.storage_write_bytes",
          "node.memory_bytes",
          "node.threads",
          "node.processes",
          "node.capacity_millicores",
          "node.capacity_memory_bytes"};
}

inline std::vector<std::string> both_levels() {
  std::vector<std::string> names = process_columns();
  for (const std::string& name : node_columns()) names.push_back(name);
  return names;
}

// Values by column name; columns that aren't named keep what they had before.
using Values = std::map<std::string, record::Value>;

class Recorder {
 public:
  explicit Recorder(std::vector<std::string> columns = both_levels())
      : file_(base::make_memfd("synthetic")), writer_(file_.fd(), 0, 0) {
    record::Machine machine;
    machine.time_ns = 1;
    machine.wall_offset_ns = kWall;
    machine.host = "made-up";
    machine.boot_id = "no boot of this machine";
    machine.cores_online = 8;
    machine.memory_bytes = 1024 * kMiB;
    machine.affinity = {0, 1};
    machine.process_source = "affinity";
    machine.node_source = "online cores";
    add(machine);
    add(record::Settings{1, 10.0, {}});
    schema(std::move(columns));
    set({{"process.processes", 1},
         {"process.threads", 1},
         {"process.memory_bytes", 100 * kMiB},
         {"process.capacity_millicores", 2000},
         {"process.capacity_memory_bytes", 1000 * kMiB},
         {"node.processes", 200},
         {"node.threads", 900},
         {"node.memory_bytes", 500 * kMiB},
         {"node.capacity_millicores", 8000},
         {"node.capacity_memory_bytes", 1024 * kMiB}});
  }

  void schema(std::vector<std::string> columns) {
    columns_ = std::move(columns);
    record::Schema schema;
    for (const std::string& name : columns_) {
      const bool counter = name.find("cpu_time") != name.npos || name.find("io_") != name.npos ||
                           name.find("storage_") != name.npos;
      schema.columns.push_back({name, counter ? record::Kind::kCounter : record::Kind::kGauge});
    }
    add(schema);
  }

  void add(const record::Record& record) { ASSERT_TRUE(writer_.append(record)); }
  void set(const Values& values) {
    for (const auto& [name, value] : values) values_[name] = value;
  }
  void row(std::int64_t time_ns, const Values& values = {}, std::uint8_t flags = 0) {
    set(values);
    record::Sample sample;
    sample.time_ns = time_ns;
    sample.duration_ns = 60'000;
    sample.cpu_ns = time_ns / 1000;
    sample.flags = flags;
    for (const std::string& name : columns_) sample.values.push_back(values_[name]);
    ASSERT_TRUE(writer_.append_row(sample));
  }
  void edge(std::int64_t time_ns, const Values& values = {}) {
    row(time_ns, values, record::kEdgeSample);
  }
  void seal() { ASSERT_TRUE(writer_.seal()); }

  [[nodiscard]] int fd() const { return file_.fd(); }
  [[nodiscard]] record::LogWriter& writer() { return writer_; }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_.fd()); }
  [[nodiscard]] std::string bytes() const {
    std::string bytes(base::file_size(file_.fd()).value_or(0), '\0');
    EXPECT_EQ(base::read_at(file_.fd(), bytes, 0), bytes.size());
    return bytes;
  }

  // The finished file.
  [[nodiscard]] store::Recording open() const { return store::Recording::open(path()); }
  // As the kernel sees it.
  [[nodiscard]] store::Recording follow() const {
    store::Recording recording = store::Recording::follow(file_.fd());
    EXPECT_TRUE(recording.refresh());
    return recording;
  }

 private:
  base::File file_;
  record::LogWriter writer_;
  std::vector<std::string> columns_;
  Values values_;
};

inline base::File file_of(std::string_view bytes) {
  base::File file = base::make_memfd("bytes");
  EXPECT_TRUE(base::write_at(file.fd(), bytes, 0));
  return file;
}
inline std::string path_of(const base::File& file) {
  return "/proc/self/fd/" + std::to_string(file.fd());
}

// The kernel's own counters, all known.
inline record::EdgeCounters marks(std::int64_t cpu_ns, std::int64_t children_ns = 0,
                                  std::int64_t peak_bytes = 50 * kMiB) {
  record::EdgeCounters counters;
  for (const auto field : record::kEdgeCounterFields) counters.*field = 0;
  counters.cpu_time_ns = cpu_ns;
  counters.children_cpu_time_ns = children_ns;
  counters.peak_bytes = peak_bytes;
  return counters;
}

inline std::int64_t execution_count_of(std::int64_t index) {
  return index > 0 && index < 1000 ? index + 10 : record::kNoExecutionCount;
}

inline record::CellBegin cell_begin(std::int64_t time_ns, std::int64_t sample_ns,
                                    record::EdgeCounters counters = marks(0),
                                    std::int64_t index = 1) {
  record::CellBegin begin;
  begin.index = index;
  begin.execution_count = execution_count_of(index);
  begin.time_ns = time_ns;
  begin.sample_ns = sample_ns;
  begin.counters = counters;
  begin.source = "x = " + std::to_string(index);
  begin.source_bytes = static_cast<std::int64_t>(begin.source.size());
  return begin;
}

inline record::CellEnd cell_end(std::int64_t time_ns, std::int64_t sample_ns,
                                record::EdgeCounters counters = marks(0), std::int64_t index = 1,
                                record::Outcome outcome = record::Outcome::kOk) {
  return {index, execution_count_of(index), time_ns, sample_ns, outcome, counters};
}

inline record::Gap gap(std::int64_t begin_ns, std::int64_t end_ns,
                       record::GapReason reason = record::GapReason::kSamplerStopped) {
  return {begin_ns, end_ns, reason, ""};
}

inline store::CellSummary summary_of(const store::Recording& recording, std::int64_t index = 1) {
  const store::Cell* cell = recording.cell(index);
  if (cell == nullptr) {
    ADD_FAILURE() << "there is no cell " << index;
    return {};
  }
  return store::summarize(recording, *cell);
}

inline const store::LevelSummary& level_of(const store::CellSummary& summary,
                                           const std::string& name) {
  for (const store::LevelSummary& level : summary.levels) {
    if (level.name == name) return level;
  }
  ADD_FAILURE() << "there is no level " << name;
  static const store::LevelSummary kNone;
  return kNone;
}

}  // namespace synthetic
