#include "store/level_summary.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace store {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kPercent = 100;
constexpr std::size_t kMostSourceBytes = 160;

using Field = std::optional<std::int64_t> LevelSummary::*;
constexpr std::array<Field, kCounters> kFields{nullptr,
                                               &LevelSummary::io_read_bytes,
                                               &LevelSummary::io_write_bytes,
                                               &LevelSummary::io_read_ops,
                                               &LevelSummary::io_write_ops,
                                               &LevelSummary::storage_read_bytes,
                                               &LevelSummary::storage_write_bytes};

const std::string& source_of(const record::Machine& machine, std::string_view level) noexcept {
  if (level == "process") return machine.process_source;
  if (level == "user") return machine.user_source;
  return level == "job" ? machine.job_source : machine.node_source;
}

class Builder {
 public:
  Builder(const LevelTrack& track, CellSpan span, const record::Machine* machine,
          const Reasons& reasons, CellSummary& summary)
      : track_(track),
        span_(std::move(span)),
        machine_(machine),
        reasons_(reasons),
        summary_(summary) {
    level_.name = track.name();
    // The marks are of the kernel's process; they say nothing about other levels.
    if (!track.is_process()) span_.begin.marks = span_.end.marks = nullptr;
  }

  LevelSummary build() {
    // A machine without jobs has no level `job`, and one sentence says so.
    const bool may_be_absent = level_.name == "user" || level_.name == "job";
    if (may_be_absent && !track_.any_known()) {
      level_.why_absent = reasons_.why(level_.name, "", track_.last_total(kCpuTime));
      summary_.unknown.emplace(level_.name, level_.why_absent);
      return std::move(level_);
    }
    capacity();
    cpu();
    for (std::size_t i = kIoReadBytes; i < kCounters; ++i) {
      const auto counter = static_cast<Counter>(i);
      if (const auto gain = gain_or_reason(counter, kCounterNames[i]))
        level_.*kFields[i] = gain->value;
    }
    memory();
    level_.processes_max = highest(track_.processes(), "processes");
    level_.threads_max = highest(track_.threads(), "threads");
    switches();
    bounds();
    return std::move(level_);
  }

 private:
  [[nodiscard]] std::string key(std::string_view metric) const {
    return level_.name + '.' + std::string(metric);
  }
  // `metric` as in the summary, `column` as in the recording.
  void unknown(std::string_view metric, std::string_view column, record::Value seen) {
    summary_.unknown.emplace(key(metric), reasons_.why(level_.name, column, seen));
  }
  void unknown_because(std::string_view metric, std::string reason) {
    summary_.unknown.emplace(key(metric), std::move(reason));
  }

  void capacity() {
    const double cores = track_.mean_cores();
    if (cores > 0) level_.capacity_cores = cores;
    record::Value memory = track_.capacity_memory();
    if (memory <= 0 && machine_ != nullptr) memory = machine_->memory_bytes;
    if (memory > 0) level_.capacity_memory_bytes = memory;
    if (machine_ != nullptr) {
      level_.capacity_source = source_of(*machine_, level_.name).substr(0, kMostSourceBytes);
    }
    if (!level_.capacity_cores) {
      unknown("capacity", "capacity_millicores", record::unknown(record::State::kNotYet));
    } else if (!level_.capacity_memory_bytes) {
      unknown("capacity", "capacity_memory_bytes", record::unknown(record::State::kNotYet));
    }
  }

  std::optional<Gain> gain_or_reason(Counter counter, std::string_view metric) {
    // A counter of the kernel that falls began anew. A tree's falls when a process leaves it.
    const std::int64_t fallen = track_.fallen(counter);
    const auto gain =
        gain_of(counter, span_, {track_.begin(), track_.before_begin()},
                {track_.end(), track_.before_end()}, track_.is_process() ? 0 : fallen);
    if (!gain) {
      unknown(metric, kCounterNames[counter], track_.last_total(counter));
      return std::nullopt;
    }
    if (fallen > 0) {
      summary_.notes.emplace(key(metric), "lower bound: the counter went backwards");
    } else if (auto partly = reasons_.recorded(level_.name, kCounterNames[counter])) {
      summary_.notes.emplace(key(metric), "incomplete: " + *partly);
    } else if (auto bound = reasons_.bound(level_.name, kCounterNames[counter])) {
      summary_.notes.emplace(key(metric), *std::move(bound));
    }
    kernel_only_ = kernel_only_ || gain->kernel_only;
    return gain;
  }

  void cpu() {
    const auto gain = gain_or_reason(kCpuTime, "cpu_time_s");
    Statistics& percent = level_.cpu_percent;
    if (!gain) {
      unknown("cpu_percent", kCounterNames[kCpuTime], track_.last_total(kCpuTime));
      return;
    }
    level_.cpu_time_s = static_cast<double>(gain->value) / kNsPerSecond;
    if (!level_.capacity_cores) {
      return unknown_because("cpu_percent", "not yet: the capacity is not known");
    }
    if (gain->duration_ns <= 0) {
      return unknown_because("cpu_percent", "not yet: the cell was too short");
    }
    const double most = static_cast<double>(gain->duration_ns) * *level_.capacity_cores;
    percent.mean = std::min(static_cast<double>(gain->value) / most * kPercent, kPercent);
    if (summary_.ticks == 0) {
      return unknown_because("cpu_percent", "not yet: no tick fell into this cell");
    }
    if (!track_.cpu().max()) {
      return unknown_because("cpu_percent", "not yet: no two samples in this cell tell a rate");
    }
    percent.max = *track_.cpu().max() * kPercent;
    percent.min = *track_.cpu().min() * kPercent;
  }

  void memory() {
    MemoryStatistics& memory = level_.memory_bytes;
    const GaugeSeries& series = track_.memory();
    memory.upper_bound = track_.memory_upper_bound();
    memory.mean = series.mean();
    if (series.max()) memory.max = static_cast<double>(*series.max());
    if (series.min()) memory.min = static_cast<double>(*series.min());
    memory.begin = at_edge(track_.begin(), span_.begin);
    memory.end = at_edge(track_.end(), span_.end);
    peak();
    if (!series.max()) {
      unknown("memory_bytes", "memory_bytes", series.last());
    } else if (!memory.begin || !memory.end) {
      const CellEdge& edge = memory.begin ? span_.end : span_.begin;
      unknown_because("memory_bytes",
                      std::string(edge.near ? "not yet: sharing had not been measured at "
                                            : "not yet: there is no sample at ") +
                          (memory.begin ? "the end" : "the begin") + " of the cell");
    }
  }

  // Of the kernel's process with all its threads, and of the children it waited for.
  void switches() {
    if (!track_.is_process()) return;
    add_switches("voluntary_switches", &record::EdgeCounters::voluntary_switches,
                 &record::EdgeCounters::children_voluntary_switches);
    add_switches("involuntary_switches", &record::EdgeCounters::involuntary_switches,
                 &record::EdgeCounters::children_involuntary_switches);
  }

  void add_switches(const char* metric, record::Value record::EdgeCounters::* own,
                    record::Value record::EdgeCounters::* children) {
    MetricSummary& figures = level_.others[metric];
    const auto sum = [&](const record::EdgeCounters* marks) {
      if (marks == nullptr || !record::is_known(marks->*own) ||
          !record::is_known(marks->*children)) {
        return record::unknown(record::State::kNotYet);
      }
      std::int64_t both = 0;
      return __builtin_add_overflow(marks->*own, marks->*children, &both)
                 ? record::unknown(record::State::kNotYet)
                 : both;
    };
    const record::Value from = sum(span_.begin.marks);
    const record::Value to = sum(span_.end.marks);
    if (!record::is_known(from) || !record::is_known(to)) {
      return unknown_because(metric,
                             "not yet: the kernel hasn't counted at both edges of the cell");
    }
    figures.gain = std::max<std::int64_t>(to - from, 0);
  }

  // On the same footing as the other figures: no upper bound among measured sizes.
  [[nodiscard]] std::optional<std::int64_t> at_edge(const Frame* frame,
                                                    const CellEdge& edge) const {
    if (frame == nullptr || !edge.near || !record::is_known(frame->gauge[kMemory])) {
      return std::nullopt;
    }
    const record::Value memory = frame->gauge[kMemory];
    if (frame->gauge[kMemoryIsUpperBound] <= 0 || track_.memory_upper_bound()) return memory;
    if (frame->gauge[kProcesses] != 1) return std::nullopt;
    return std::max<std::int64_t>(memory - track_.sharing_bytes(), 0);
  }

  // The samples' maximum, raised by what the kernel's high-water marks have seen between them.
  // Those are resident sizes: what is shared with processes outside of the tree is taken off.
  void peak() {
    MemoryStatistics& memory = level_.memory_bytes;
    const auto most = track_.memory().max();
    memory.peak = most;
    memory.peak_lower_bound = most.has_value();
    if (!track_.is_process() || span_.begin.marks == nullptr || span_.end.marks == nullptr) return;
    const record::EdgeCounters& before = *span_.begin.marks;
    const record::EdgeCounters& after = *span_.end.marks;
    const auto rose = [](record::Value earlier, record::Value later) {
      return record::is_known(earlier) && record::is_known(later) && later > earlier;
    };
    const bool children_rose = rose(before.children_peak_bytes, after.children_peak_bytes);
    const bool own_rose = rose(before.peak_bytes, after.peak_bytes);
    const auto raise = [&](record::Value value) {
      memory.peak = std::max(memory.peak.value_or(0), value - track_.sharing_bytes());
    };
    if (own_rose) raise(after.peak_bytes);
    if (children_rose) raise(after.children_peak_bytes);
    memory.peak_lower_bound = memory.peak.has_value();
    if (children_rose || !alone() || !record::is_known(after.peak_bytes)) return;
    // One process: its mark either rose (then it is the peak), or was never passed.
    memory.peak_lower_bound =
        !own_rose && (!most || after.peak_bytes - track_.sharing_bytes() > *most);
  }

  // No sample has seen another process than the kernel.
  [[nodiscard]] bool alone() const { return track_.processes().max() == 1; }

  std::optional<std::int64_t> highest(const GaugeSeries& series, std::string_view metric) {
    if (!series.max()) unknown(metric, metric, series.last());
    return series.max();
  }

  void bounds() {
    std::string text;
    const bool both = track_.begin() != nullptr && track_.end() != nullptr;
    const auto far = [](const CellEdge& edge) { return edge.sample_ns > 0 && !edge.near; };
    if (kernel_only_) {
      text = "lower bound: only the kernel process and the children it waited for were seen";
    } else if (both && span_.outcome == record::Outcome::kDied && far(span_.end)) {
      text = "lower bound: the time after the last sample is not in it";
    } else if (both && (far(span_.begin) || far(span_.end)) && !(track_.is_process() && alone())) {
      text = far(span_.begin) ? "lower bound: there is no sample at the begin of the cell"
                              : "lower bound: there is no sample at the end of the cell";
    }
    if (!text.empty()) summary_.notes.emplace(level_.name, std::move(text));
  }

  const LevelTrack& track_;
  CellSpan span_;
  const record::Machine* machine_;
  const Reasons& reasons_;
  CellSummary& summary_;
  LevelSummary level_;
  bool kernel_only_ = false;
};

}  // namespace

void add_level(const LevelTrack& track, const CellSpan& span, const record::Machine* machine,
               const Reasons& reasons, CellSummary& summary) {
  summary.levels.push_back(Builder(track, span, machine, reasons, summary).build());
}

}  // namespace store
