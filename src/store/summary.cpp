#include "store/summary.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/clock.hpp"
#include "record/text.hpp"
#include "store/cell_span.hpp"
#include "store/gap_table.hpp"
#include "store/level_summary.hpp"
#include "store/level_track.hpp"
#include "store/reasons.hpp"

namespace store {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr std::size_t kMostGapTextBytes = 160;

double seconds(std::int64_t ns) noexcept { return static_cast<double>(ns) / kNsPerSecond; }

const record::Machine* machine_at(const Recording& recording, std::int64_t time_ns) {
  const record::Machine* found = nullptr;
  for (const record::Machine& machine : recording.machines()) {
    if (found == nullptr || machine.time_ns <= time_ns) found = &machine;
  }
  return found;
}

double cores_of(const record::Machine* machine, bool process) noexcept {
  if (machine == nullptr) return 0;
  if (process && !machine->affinity.empty()) return static_cast<double>(machine->affinity.size());
  return static_cast<double>(std::max<std::int64_t>(machine->cores_online, 0));
}

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

// Feeds the rows of the cell to both tracks and counts the ticks.
class RowFeeder {
 public:
  RowFeeder(const CellSpan& span, LevelTrack& process, LevelTrack& node)
      : span_(span), process_(process), node_(node) {}

  void add_before(const std::shared_ptr<const record::Schema>& schema, const record::Rows& rows,
                  std::size_t row) {
    look_up(schema);
    if (process_columns_->present()) process_.add_before(process_columns_->frame(rows, row));
  }

  void add(const std::shared_ptr<const record::Schema>& schema, const record::Rows& rows,
           std::size_t row) {
    look_up(schema);
    if (process_columns_->present()) process_.add(process_columns_->frame(rows, row));
    if (node_columns_->present()) node_.add(node_columns_->frame(rows, row));
    const std::int64_t time_ns = rows.time_ns[row];
    const bool edge = (rows.flags[row] & record::kEdgeSample) != 0;
    if (!edge && time_ns >= span_.begin.time_ns && time_ns <= span_.end.time_ns) ++ticks_;
  }

  [[nodiscard]] std::int64_t ticks() const noexcept { return ticks_; }

 private:
  void look_up(const std::shared_ptr<const record::Schema>& schema) {
    if (schema == schema_) return;
    schema_ = schema;
    process_columns_.emplace(*schema, process_.name());
    node_columns_.emplace(*schema, node_.name());
  }

  const CellSpan& span_;
  LevelTrack& process_;
  LevelTrack& node_;
  std::shared_ptr<const record::Schema> schema_;
  std::optional<LevelColumns> process_columns_, node_columns_;
  std::int64_t ticks_ = 0;
};

// Whether a level without rows in the cell is one that this recording measures.
bool is_recorded(const Recording& recording, std::string_view level) {
  return !recording.schemas().empty() && LevelColumns(*recording.schemas().back(), level).present();
}

}  // namespace

CellSummary summarize(const Recording& recording, const Cell& cell) {
  const CellSpan span = span_of(recording, cell);
  CellSummary summary;
  summary.index = cell.begin.index;
  if (cell.execution_count() >= 0) summary.execution_count = cell.execution_count();
  summary.begin_wall_ns = recording.wall_ns(span.begin.time_ns);
  summary.begin = base::iso_utc(summary.begin_wall_ns);
  summary.duration_s = seconds(span.duration_ns());
  summary.outcome = span.outcome;
  summary.outcome_text = span.outcome_text;
  summary.running = span.running;
  summary.gaps = gaps_in(recording, span);

  const std::int64_t first_ns =
      span.begin.near ? std::min(span.begin.time_ns, span.begin.sample_ns) : span.begin.time_ns;
  const std::int64_t last_ns = std::max(span.end.time_ns, span.end.sample_ns);
  const GapTable gaps(recording, first_ns, last_ns);
  const record::Machine* machine = machine_at(recording, span.end.time_ns);
  LevelTrack process("process", span, gaps, cores_of(machine, true));
  LevelTrack node("node", span, gaps, cores_of(machine, false));
  RowFeeder feeder(span, process, node);
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
  process.finish();
  node.finish();
  summary.ticks = feeder.ticks();
  if (!span.end.near) {
    const std::int64_t sample_ns = recording.sample_at_or_before(span.end.time_ns);
    if (sample_ns > 0) summary.sample_age_s = seconds(span.end.time_ns - sample_ns);
  }

  // The kernel's own counters alone make a level `process` even without a sampler.
  const bool no_rows = !process.seen() && !node.seen();
  // What the sample at the end has found out is said just after it. (Hostile times: no overflow.)
  constexpr std::int64_t kLatestNs = std::numeric_limits<std::int64_t>::max() - kNearNs;
  const std::int64_t told_ns = std::max(span.end.time_ns, span.end.sample_ns);
  const Reasons reasons(recording, std::min(told_ns, kLatestNs) + kNearNs);
  if (process.seen() ||
      (no_rows && (recording.schemas().empty() || is_recorded(recording, process.name())))) {
    add_level(process, span, machine, reasons, summary);
  }
  if (node.seen() || (no_rows && is_recorded(recording, node.name()))) {
    add_level(node, span, machine, reasons, summary);
  }
  return summary;
}

}  // namespace store
