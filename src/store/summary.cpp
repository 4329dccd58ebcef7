#include "store/summary.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <limits>

#include "base/clock.hpp"
#include "record/text.hpp"
#include "store/cell_span.hpp"
#include "store/gap_table.hpp"
#include "store/level_summary.hpp"
#include "store/level_track.hpp"
#include "store/machines.hpp"
#include "store/other_metrics.hpp"
#include "store/reasons.hpp"

namespace store {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr std::size_t kMostGapTextBytes = 160;
constexpr std::int64_t kMostOthers = 1LL << 40;

double seconds(std::int64_t ns) noexcept { return static_cast<double>(ns) / kNsPerSecond; }

constexpr std::array<std::string_view, 4> kLevels{"process", "user", "job", "node"};

std::vector<GapSummary> gaps_in(const Recording& recording, const CellSpan& span) {
  std::vector<GapSummary> gaps;
  const std::int64_t begin_ns = span.begin.time_ns;
  for (const record::Gap& gap : recording.gaps()) {
    if (gap.begin_ns >= span.end.time_ns || gap.end_ns <= begin_ns) continue;
    std::string reason(record::gap_reason_text(gap.reason));
    if (!gap.text.empty()) reason += ": " + gap.text.substr(0, kMostGapTextBytes);
    gaps.push_back({seconds(std::max(gap.begin_ns, begin_ns) - begin_ns),
                    seconds(std::min(gap.end_ns, span.end.time_ns) - begin_ns), std::move(reason)});
  }
  return gaps;
}

// Feeds the rows of the cell to the tracks and counts the ticks.
class RowFeeder {
 public:
  RowFeeder(const CellSpan& span, std::deque<LevelTrack>& tracks, OtherMetrics& others)
      : span_(span), tracks_(tracks), others_(others) {}

  void add_before(const std::shared_ptr<const record::Schema>& schema, const record::Rows& rows,
                  std::size_t row) {
    look_up(schema);
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
      if (columns_[i].present()) tracks_[i].add_before(columns_[i].frame(rows, row));
    }
  }

  void add(const std::shared_ptr<const record::Schema>& schema, const record::Rows& rows,
           std::size_t row) {
    look_up(schema);
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
      if (columns_[i].present()) tracks_[i].add(columns_[i].frame(rows, row));
    }
    others_.add(schema, rows, row);
    const std::int64_t time_ns = rows.time_ns[row];
    const bool edge = (rows.flags[row] & record::kEdgeSample) != 0;
    if (!edge && time_ns >= span_.begin.time_ns && time_ns <= span_.end.time_ns) ++ticks_;
  }

  [[nodiscard]] std::int64_t ticks() const noexcept { return ticks_; }

 private:
  void look_up(const std::shared_ptr<const record::Schema>& schema) {
    if (schema == schema_) return;
    schema_ = schema;
    columns_.clear();
    for (const LevelTrack& track : tracks_) columns_.emplace_back(*schema, track.name());
  }

  const CellSpan& span_;
  std::deque<LevelTrack>& tracks_;
  OtherMetrics& others_;
  std::shared_ptr<const record::Schema> schema_;
  std::vector<LevelColumns> columns_;  // of each track
  std::int64_t ticks_ = 0;
};

// Whether a level without rows in the cell is one that this recording measures.
bool is_recorded(const Recording& recording, std::string_view level) {
  return !recording.schemas().empty() && LevelColumns(*recording.schemas().back(), level).present();
}

// Of the settings in force while the cell ran, the last that weren't the user's.
std::string rate_note_of(const Recording& recording, const CellSpan& span) {
  std::string note;
  for (const record::Settings& one : recording.settings()) {
    if (one.time_ns > span.end.time_ns) break;
    if (one.time_ns <= span.begin.time_ns || !one.reason.empty()) {
      note = one.reason.substr(0, kMostGapTextBytes);
    }
  }
  return note;
}

bool comes_before(const record::Consumer& one, const record::Consumer& other) noexcept {
  return one.cpu_time_ns > other.cpu_time_ns;
}

// A cell in which others ran has several parts: the same process may be in each.
void find_consumers(const Recording& recording, const CellSpan& span, CellSummary& summary) {
  for (const record::Consumers& part : recording.consumers()) {
    if (part.begin_ns < span.begin.sample_ns || part.end_ns > span.end.sample_ns) continue;
    summary.other_consumers += std::clamp<std::int64_t>(part.others, 0, kMostOthers);
    summary.other_consumers_cpu_time_s += seconds(part.others_cpu_time_ns);
    add_consumers(part.list, summary);
  }
  largest_consumers(summary);
}

CellSummary figures_of(const Recording& recording, const Cell& cell, const CellSpan& span) {
  CellSummary summary;
  summary.index = cell.begin.index;
  if (cell.execution_count() >= 0) summary.execution_count = cell.execution_count();
  summary.begin_wall_ns = recording.wall_ns(span.begin.time_ns);
  summary.begin = base::iso_utc(summary.begin_wall_ns);
  summary.duration_s = seconds(span.duration_ns());
  summary.outcome = span.outcome;
  summary.outcome_text = span.outcome_text;
  summary.engine = span.engine;
  summary.running = span.running;
  summary.gaps = gaps_in(recording, span);
  summary.rate_note = rate_note_of(recording, span);

  const std::int64_t first_ns = span.first_row_ns();
  const std::int64_t last_ns = span.last_row_ns();
  const GapTable gaps(recording, first_ns, last_ns);
  const record::Machine* machine = machine_at(recording, span.end.time_ns);
  std::deque<LevelTrack> tracks;
  for (const auto level : kLevels) {
    tracks.emplace_back(level, span, gaps, cores_of(machine, level));
  }
  OtherMetrics others(gaps);
  RowFeeder feeder(span, tracks, others);
  if (const std::int64_t before_ns = recording.sample_at_or_before(first_ns - 1); before_ns > 0) {
    recording.visit_rows(before_ns, before_ns,
                         [&](const auto& schema, const record::Rows& rows, std::size_t row) {
                           feeder.add_before(schema, rows, row);
                           return true;
                         });
  }
  recording.visit_rows(first_ns, last_ns,
                       [&](const auto& schema, const record::Rows& rows, std::size_t row) {
                         feeder.add(schema, rows, row);
                         return true;
                       });
  for (LevelTrack& track : tracks) track.finish();
  summary.ticks = feeder.ticks();
  if (!span.end.near) {
    const std::int64_t sample_ns = recording.sample_at_or_before(span.end.time_ns);
    if (sample_ns > 0) summary.sample_age_s = seconds(span.end.time_ns - sample_ns);
  }

  // The kernel's own counters alone make a level `process` even without a sampler.
  const bool no_rows =
      std::ranges::none_of(tracks, [](const LevelTrack& track) { return track.seen(); });
  const Reasons reasons(recording, first_ns, span.told_ns());
  for (const LevelTrack& track : tracks) {
    const bool without_sampler = track.is_process() && recording.schemas().empty();
    if (track.seen() || (no_rows && (without_sampler || is_recorded(recording, track.name())))) {
      add_level(track, span, machine, reasons, summary);
    }
  }
  others.put_into(summary, reasons);
  summary.devices = recording.devices();
  return summary;
}

}  // namespace

void add_consumers(const std::vector<record::Consumer>& consumers, CellSummary& summary) {
  for (const record::Consumer& consumer : consumers) {
    const auto known = std::ranges::find_if(summary.consumers, [&](const auto& one) {
      return one.pid == consumer.pid && one.start_ticks == consumer.start_ticks;
    });
    if (known == summary.consumers.end()) {
      summary.consumers.push_back(consumer);
      continue;
    }
    const std::int64_t before_ns = known->cpu_time_ns;
    *known = consumer;
    if (__builtin_add_overflow(before_ns, consumer.cpu_time_ns, &known->cpu_time_ns)) {
      known->cpu_time_ns = std::numeric_limits<std::int64_t>::max();
    }
  }
}

void largest_consumers(CellSummary& summary) {
  std::ranges::stable_sort(summary.consumers, comes_before);
  while (summary.consumers.size() > record::kMostConsumers) {
    ++summary.other_consumers;
    summary.other_consumers_cpu_time_s += seconds(summary.consumers.back().cpu_time_ns);
    summary.consumers.pop_back();
  }
}

const LevelSummary* CellSummary::level(std::string_view name) const noexcept {
  const auto found = std::ranges::find(levels, name, &LevelSummary::name);
  return found == levels.end() ? nullptr : &*found;
}

CellSummary summarize(const Recording& recording, const Cell& cell) {
  const CellSpan span = span_of(recording, cell);
  CellSummary summary = figures_of(recording, cell, span);
  find_consumers(recording, span, summary);
  return summary;
}

CellSummary summarize_all(const Recording& recording) {
  Cell all;
  all.begin.time_ns = all.begin.sample_ns = recording.first_sample_ns();
  record::CellEnd& end = all.end.emplace();
  end.time_ns = end.sample_ns = recording.last_sample_ns();
  return figures_of(recording, all, span_of(recording, all));
}

}  // namespace store
