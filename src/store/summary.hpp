#pragma once
// What one cell did, out of the recording: the figures behind every summary, report and history.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/records.hpp"
#include "store/recording.hpp"

namespace store {

struct Statistics {
  std::optional<double> mean, max, min;
};

struct MemoryStatistics : Statistics {
  std::optional<std::int64_t> begin, end, peak;
  bool upper_bound = false;       // resident sizes: shared pages counted more than once
  bool peak_lower_bound = false;  // it may have been higher between two samples
};

// A metric that not every level has. Unknown: nothing is set.
struct MetricSummary {
  record::Kind kind = record::Kind::kCounter;
  std::optional<std::int64_t> gain;  // a counter's, in the cell
  Statistics values;                 // a gauge's
  std::optional<std::int64_t> last;
  // Of a custom monitor: then a counter's gain is in here.
  bool real = false;
  std::optional<double> real_gain{};
};

struct LevelSummary {
  std::string name;        // "process", "user", "job", "node"
  std::string why_absent;  // "not supported: …" when nothing of the level can be measured
  std::optional<double> capacity_cores;
  std::optional<std::int64_t> capacity_memory_bytes;
  std::string capacity_source;
  Statistics cpu_percent;  // of the capacity
  std::optional<double> cpu_time_s;
  MemoryStatistics memory_bytes;
  std::optional<std::int64_t> io_read_bytes, io_write_bytes, io_read_ops, io_write_ops;
  std::optional<std::int64_t> storage_read_bytes, storage_write_bytes;
  std::optional<std::int64_t> processes_max, threads_max;
  std::map<std::string, MetricSummary> others;  // "swap_bytes", "gpu0.power_milliwatts"
};

struct GapSummary {
  double begin_s = 0;  // since the cell's begin
  double end_s = 0;
  std::string reason;
};

// Of a cell of a group.
struct GroupCell {
  std::int64_t index = 0;
  std::optional<std::int64_t> execution_count;
  double duration_s = 0;
  record::Outcome outcome = record::Outcome::kOk;
  bool running = false;
};

struct GroupSummary {
  std::int64_t index = 0;
  std::string name;   // the user's; may be empty
  std::string title;  // "g1 train"
  std::vector<GroupCell> cells;
};

struct CellSummary {
  std::int64_t index = 0;
  std::optional<std::int64_t> execution_count;
  std::string begin;  // ISO 8601 UTC
  std::int64_t begin_wall_ns = 0;
  double duration_s = 0;
  record::Outcome outcome = record::Outcome::kOk;
  std::string outcome_text;         // more about a death: "killed by signal 9 (SIGKILL)"; or empty
  record::EngineTimes engine = {};  // where the cell ran in one
  std::optional<GroupSummary> group;  // these are the figures of a group, as of a cell #0
  bool running = false;    // no end yet, and the recording isn't over; up to the last sample
  std::int64_t ticks = 0;  // regular samples; edge samples don't count
  std::optional<double> sample_age_s;  // how old the last sample was at the end, when it is old
  std::string rate_note;  // why samples were fewer, or held less, than asked for; "": they weren't
  std::vector<GapSummary> gaps;
  std::vector<LevelSummary> levels;     // process, user, job, node
  std::vector<record::Device> devices;  // that metrics are about
  // Who used most of the CPU time of level `process`, largest first; empty when nothing tells.
  std::vector<record::Consumer> consumers;
  std::int64_t other_consumers = 0;
  double other_consumers_cpu_time_s = 0;
  std::map<std::string, std::string> unknown;  // "<level>.<metric>" -> "not supported: …"
  std::map<std::string, std::string> units;    // of custom monitors' metrics: "<level>.<metric>"
  // What is known but not exactly: "<level>.<metric>" -> "lower bound: …" or "incomplete: …";
  // "<level>" alone stands for its CPU and I/O figures together.
  std::map<std::string, std::string> notes;

  // Null: it isn't among them.
  [[nodiscard]] const LevelSummary* level(std::string_view name) const noexcept;
};

// Puts more processes to those of the summary: one that is there already has used both.
void add_consumers(const std::vector<record::Consumer>& consumers, CellSummary& summary);
// Leaves the largest, largest first; what the others used is in `other_consumers…`.
void largest_consumers(CellSummary& summary);

// The summary of a cell. Never throws for what the recording lacks: that is in `unknown`.
CellSummary summarize(const Recording& recording, const Cell& cell);

// The figures of the whole recording, as of a cell #0 from its first sample to its last, without
// consumers. Unknown everywhere when there is no sample. Reads all rows.
CellSummary summarize_all(const Recording& recording);

}  // namespace store
