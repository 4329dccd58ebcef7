#include "store/group_summary.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "base/clock.hpp"
#include "record/text.hpp"
#include "store/ending.hpp"

namespace store {
namespace {

std::string cell_name(const CellSummary& cell) {
  const auto& count = cell.execution_count;
  return count ? "In [" + std::to_string(*count) + ']' : '#' + std::to_string(cell.index);
}

template <typename Number>
void add(std::optional<Number>& sum, const std::optional<Number>& value) {
  if (!value) return;
  if constexpr (std::is_integral_v<Number>) {
    Number both = 0;
    if (__builtin_add_overflow(sum.value_or(0), *value, &both)) {
      both = std::numeric_limits<Number>::max();
    }
    sum = both;
  } else {
    sum = sum.value_or(0) + *value;
  }
}

template <typename Number>
void raise(std::optional<Number>& most, const std::optional<Number>& value) {
  if (value) most = most ? std::max(*most, *value) : value;
}

template <typename Number>
void lower(std::optional<Number>& least, const std::optional<Number>& value) {
  if (value) least = least ? std::min(*least, *value) : value;
}

// A mean that grows: each value counts for its cell's time. Cells of no time count for a moment.
class Mean {
 public:
  void add(std::optional<double>& mean, const std::optional<double>& value, double weight_s) {
    if (!value) return;
    constexpr double kMoment_s = 1e-9;
    const double weight = std::max(weight_s, kMoment_s);
    mean = (mean.value_or(0) * sum_ + *value * weight) / (sum_ + weight);
    sum_ += weight;
  }

 private:
  double sum_ = 0;
};

struct Means {
  Mean cpu, memory, cores;
  std::map<std::string, Mean> others;
};

constexpr std::array kSums{&LevelSummary::io_read_bytes,      &LevelSummary::io_write_bytes,
                           &LevelSummary::io_read_ops,        &LevelSummary::io_write_ops,
                           &LevelSummary::storage_read_bytes, &LevelSummary::storage_write_bytes};

void add_range(const Statistics& values, Mean& mean, double weight_s, Statistics& sum) {
  mean.add(sum.mean, values.mean, weight_s);
  raise(sum.max, values.max);
  lower(sum.min, values.min);
}

void add_memory(const MemoryStatistics& values, Mean& mean, double weight_s, bool first,
                MemoryStatistics& sum) {
  add_range(values, mean, weight_s, sum);
  if (first) sum.begin = values.begin;
  sum.end = values.end;
  raise(sum.peak, values.peak);
  sum.upper_bound = sum.upper_bound || values.upper_bound;
  sum.peak_lower_bound = sum.peak_lower_bound || values.peak_lower_bound || !values.peak;
}

void add_level(const LevelSummary& level, double weight_s, bool first, Means& means,
               LevelSummary& sum) {
  sum.name = level.name;
  if (!level.why_absent.empty()) {
    if (first) sum.why_absent = level.why_absent;
    return;
  }
  sum.why_absent.clear();
  means.cores.add(sum.capacity_cores, level.capacity_cores, weight_s);
  if (level.capacity_memory_bytes) sum.capacity_memory_bytes = level.capacity_memory_bytes;
  if (!level.capacity_source.empty()) sum.capacity_source = level.capacity_source;
  add_range(level.cpu_percent, means.cpu, weight_s, sum.cpu_percent);
  add(sum.cpu_time_s, level.cpu_time_s);
  add_memory(level.memory_bytes, means.memory, weight_s, first, sum.memory_bytes);
  for (const auto field : kSums) add(sum.*field, level.*field);
  raise(sum.processes_max, level.processes_max);
  raise(sum.threads_max, level.threads_max);
  for (const auto& [name, metric] : level.others) {
    MetricSummary& figures = sum.others[name];
    figures.kind = metric.kind;
    add(figures.gain, metric.gain);
    add_range(metric.values, means.others[name], weight_s, figures.values);
    if (metric.last) figures.last = metric.last;
  }
}

// What isn't known in every cell.
class Unknowns {
 public:
  void add(const CellSummary& cell) {
    ++cells_;
    for (const auto& [key, reason] : cell.unknown) {
      Seen& seen = seen_[key];
      if (++seen.cells == 1) seen = {1, cell_name(cell), reason};
    }
  }

  void put_into(CellSummary& sum) const {
    for (const auto& [key, seen] : seen_) {
      if (seen.cells == cells_) {
        sum.unknown.emplace(key, seen.reason);
      } else if (is_a_sum(key)) {
        sum.notes.emplace(key, "lower bound: not known of " + seen.cell + ": " + seen.reason);
      }
    }
  }

 private:
  struct Seen {
    std::size_t cells = 0;
    std::string cell, reason;
  };
  // Means and peaks of the other cells need no remark.
  static bool is_a_sum(std::string_view key) {
    return !key.ends_with(".cpu_percent") && !key.ends_with(".memory_bytes") &&
           key.find('.') != key.npos;
  }

  std::size_t cells_ = 0;
  std::map<std::string, Seen> seen_;
};

void add_engine(const record::EngineTimes& times, record::EngineTimes& sum) {
  using Times = record::EngineTimes;
  for (const auto field : {&Times::start_ns, &Times::carry_ns, &Times::return_ns}) {
    if (!record::is_known(times.*field)) continue;
    const record::Value before = std::max<record::Value>(sum.*field, 0);
    if (__builtin_add_overflow(before, times.*field, &(sum.*field))) sum.*field = before;
  }
}

void add_outcome(const CellSummary& cell, CellSummary& sum) {
  if (sum.outcome != record::Outcome::kOk || cell.running) return;
  sum.outcome = cell.outcome;
  if (cell.outcome == record::Outcome::kOk) return;
  sum.outcome_text = "in " + cell_name(cell);
  if (!cell.outcome_text.empty()) sum.outcome_text += ": " + cell.outcome_text;
}

class Sum {
 public:
  void add(CellSummary cell) {
    const double weight_s = cell.duration_s;
    for (GapSummary& gap : cell.gaps) {
      gap.begin_s += sum_.duration_s;
      gap.end_s += sum_.duration_s;
      sum_.gaps.push_back(std::move(gap));
    }
    sum_.duration_s += weight_s;
    sum_.ticks += cell.ticks;
    sum_.sample_age_s = cell.sample_age_s;
    if (!cell.rate_note.empty()) sum_.rate_note = cell.rate_note;
    add_outcome(cell, sum_);
    add_engine(cell.engine, sum_.engine);
    for (const LevelSummary& level : cell.levels) {
      auto known = std::ranges::find(sum_.levels, level.name, &LevelSummary::name);
      const bool first = known == sum_.levels.end();
      if (first) known = sum_.levels.insert(known, LevelSummary{});
      add_level(level, weight_s, first, means_[level.name], *known);
    }
    unknowns_.add(cell);
    for (auto& [key, note] : cell.notes) sum_.notes.emplace(key, std::move(note));
    add_consumers(std::exchange(cell.consumers, {}), sum_);
    sum_.other_consumers += cell.other_consumers;
    sum_.other_consumers_cpu_time_s += cell.other_consumers_cpu_time_s;
    sum_.devices = std::move(cell.devices);
  }

  CellSummary finish() {
    unknowns_.put_into(sum_);
    largest_consumers(sum_);
    return std::move(sum_);
  }

 private:
  CellSummary sum_;
  std::map<std::string, Means> means_;
  Unknowns unknowns_;
};

}  // namespace

CellSummary summarize_group(const Recording& recording, const Group& group,
                            const std::vector<Cell>& cells) {
  std::vector<CellSummary> parts;
  parts.reserve(cells.size());
  for (const Cell& cell : cells) parts.push_back(summarize(recording, cell));
  GroupSummary about{group.index, group.name, group_name(group), {}};
  for (const CellSummary& cell : parts) {
    about.cells.push_back(
        {cell.index, cell.execution_count, cell.duration_s, cell.outcome, cell.running});
  }
  if (!std::ranges::all_of(parts, &CellSummary::running)) {
    std::erase_if(parts, [](const CellSummary& cell) { return cell.running; });
  }
  Sum sum;
  for (CellSummary& cell : parts) sum.add(std::move(cell));
  CellSummary summary = sum.finish();
  add_engine(group.engine, summary.engine);
  summary.begin_wall_ns = recording.wall_ns(group.begin_ns);
  if (!parts.empty()) summary.begin_wall_ns = parts.front().begin_wall_ns;
  summary.begin = base::iso_utc(summary.begin_wall_ns);
  summary.running = !group.end_ns && recording.is_live();
  if (!group.end_ns && !summary.running && summary.outcome == record::Outcome::kOk) {
    summary.outcome = record::Outcome::kInterrupted;
    summary.outcome_text = "the kernel ended in this group";
  }
  summary.group = std::move(about);
  return summary;
}

}  // namespace store
