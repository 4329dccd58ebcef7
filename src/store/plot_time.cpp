#include "store/plot_time.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "store/gap_table.hpp"

namespace store {
namespace {

constexpr std::int64_t kShortestNs = 1'000'000;  // of a segment: below that only rounding is left
constexpr std::int64_t kRoundedNs = 1'000;       // a window's edges travel as microseconds
constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();
constexpr double kShareBetween = 0.15;  // of the buckets, for what is cut out

std::vector<PlotSegment> segments_of(const std::vector<CellSpan>& spans, std::int64_t least_ns) {
  std::vector<PlotSegment> segments;
  for (const CellSpan& span : spans) {
    PlotSegment cell;
    cell.begin_ns = span.begin.time_ns;
    cell.end_ns = span.end.time_ns;
    cell.first_ns = span.begin.near ? std::min(cell.begin_ns, span.begin.sample_ns) : cell.begin_ns;
    cell.last_ns = std::max(cell.end_ns, span.end.sample_ns);
    cell.from_ns = span.begin.sample_ns;
    cell.to_ns = span.end.sample_ns;
    cell.of_cells = true;
    if (!segments.empty()) {
      PlotSegment& last = segments.back();
      cell.begin_ns = std::max(cell.begin_ns, last.end_ns);
      cell.end_ns = std::max(cell.end_ns, cell.begin_ns);
      const std::int64_t between_ns = cell.begin_ns - last.end_ns;
      const bool both_short = last.of_cells && last.end_ns - last.begin_ns < least_ns &&
                              cell.end_ns - cell.begin_ns < least_ns;
      if (both_short && between_ns < least_ns) {
        last.end_ns = cell.end_ns;
        last.last_ns = std::max(last.last_ns, cell.last_ns);
        if (last.from_ns == 0) last.from_ns = cell.from_ns;
        last.to_ns = std::max(last.to_ns, cell.to_ns);
        continue;
      }
      if (between_ns < std::max(least_ns, kShortestNs)) {
        cell.begin_ns = last.end_ns;
      } else {
        PlotSegment between;
        between.begin_ns = last.end_ns;
        between.end_ns = cell.begin_ns;
        between.first_ns = between.from_ns = last.to_ns > 0 ? last.to_ns : last.end_ns;
        between.last_ns = between.to_ns = cell.from_ns > 0 ? cell.from_ns : cell.begin_ns;
        segments.push_back(between);
      }
    }
    segments.push_back(cell);
  }
  return segments;
}

// The part of the time that has buckets of its own.
struct Part {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = kForEver;

  // Of a segment: without what is left of it by rounding.
  [[nodiscard]] Part of(const PlotSegment& segment) const noexcept {
    Part part{std::max(segment.begin_ns, begin_ns), std::min(segment.end_ns, end_ns)};
    if (part.begin_ns - segment.begin_ns <= kRoundedNs) part.begin_ns = segment.begin_ns;
    if (segment.end_ns - part.end_ns <= kRoundedNs) part.end_ns = segment.end_ns;
    return part;
  }
  [[nodiscard]] std::int64_t length_ns() const noexcept { return end_ns - begin_ns; }
};

[[noreturn]] void throw_empty() {
  throw std::invalid_argument("the window has nothing of the plot's time");
}

Part part_of(const PlotWindow& window, std::int64_t begin_ns, std::int64_t end_ns) {
  constexpr double kNsPerSecond = 1e9;
  const auto whole_ns = static_cast<double>(end_ns - begin_ns);
  const double from_ns = std::clamp(window.begin_s * kNsPerSecond, 0.0, whole_ns);
  const double to_ns = std::clamp(window.end_s * kNsPerSecond, 0.0, whole_ns);
  if (!(to_ns - from_ns > static_cast<double>(kRoundedNs))) throw_empty();  // of NaN, too
  return {begin_ns + std::llround(from_ns), begin_ns + std::llround(to_ns)};
}

std::int64_t time_of(const std::vector<PlotSegment>& segments, const Part& part, bool of_cells) {
  std::int64_t sum_ns = 0;
  for (const PlotSegment& one : segments) {
    if (one.of_cells == of_cells) sum_ns += std::max<std::int64_t>(part.of(one).length_ns(), 0);
  }
  return sum_ns;
}

// Buckets that begin and end with samples; short ones join the bucket before them. A gap has one of
// its own: the sample before it keeps a little time.
void add_at_samples(const Recording& recording, const PlotSegment& segment, const Part& part,
                    std::int64_t least_ns, std::vector<std::int64_t>& edges) {
  const GapTable gaps(recording, part.begin_ns, part.end_ns);
  std::int64_t before_ns = 0;
  const auto end_before_gap = [&](std::int64_t time_ns) {
    const std::int64_t edge_ns = before_ns + least_ns;
    if (before_ns > 0 && gaps.between(before_ns, time_ns) && edge_ns > edges.back() &&
        edge_ns < std::min(time_ns, part.end_ns)) {
      edges.push_back(edge_ns);
    }
    before_ns = time_ns;
  };
  recording.visit_rows(
      part.begin_ns > segment.begin_ns ? part.begin_ns : segment.first_ns,
      part.end_ns < segment.end_ns ? part.end_ns : segment.last_ns,
      [&](const auto&, const record::Rows& rows, std::size_t row) {
        const std::int64_t time_ns = rows.time_ns[row];
        end_before_gap(time_ns);
        if (time_ns - edges.back() >= least_ns && part.end_ns - time_ns >= least_ns) {
          edges.push_back(time_ns);
        }
        return true;
      });
  end_before_gap(part.end_ns);
  edges.push_back(part.end_ns);
}

void add_evenly(const Part& part, std::size_t buckets, std::vector<std::int64_t>& edges) {
  const auto length_ns = static_cast<double>(part.length_ns());
  for (std::size_t i = 1; i < buckets; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(buckets);
    const std::int64_t edge_ns = part.begin_ns + std::llround(length_ns * share);
    if (edge_ns > edges.back() && edge_ns < part.end_ns) edges.push_back(edge_ns);
  }
  edges.push_back(part.end_ns);
}

}  // namespace

PlotTime plot_time(const Recording& recording, const std::vector<CellSpan>& spans,
                   std::size_t most_buckets, std::optional<bool> cut,
                   const std::optional<PlotWindow>& window) {
  PlotTime time;
  std::vector<CellSpan> shown = spans;
  const bool whole = spans.empty();
  if (whole && recording.first_sample_ns() > 0) {
    CellSpan span;
    span.begin.time_ns = span.begin.sample_ns = recording.first_sample_ns();
    span.end.time_ns = span.end.sample_ns = recording.last_sample_ns();
    shown.push_back(span);
  }
  if (shown.empty()) return time;
  const auto most = static_cast<std::int64_t>(std::max<std::size_t>(most_buckets, 1));
  std::int64_t all_ns = 0;
  for (const CellSpan& span : shown) {
    all_ns = std::max(all_ns, span.end.time_ns - shown.front().begin.time_ns);
  }
  time.segments = segments_of(shown, 0);
  time.begin_ns = time.segments.front().begin_ns;
  time.end_ns = time.segments.back().end_ns;
  std::int64_t cells_ns = time_of(time.segments, {}, true);
  time.cut = cut.value_or(all_ns - cells_ns > cells_ns);
  Part part;
  if (window) {
    part = part_of(*window, time.begin_ns, time.end_ns);
    all_ns = part.length_ns();
    cells_ns = time_of(time.segments, part, true);
  }
  const std::int64_t counted_ns = time.cut ? cells_ns : all_ns;
  if (time.segments.size() > 1) time.segments = segments_of(shown, counted_ns / most);
  if (window) {
    std::erase_if(time.segments,
                  [&](const PlotSegment& one) { return part.of(one).length_ns() <= kRoundedNs; });
    if (time.segments.empty()) throw_empty();
  }
  cells_ns = time_of(time.segments, part, true);
  const std::int64_t between_ns = time_of(time.segments, part, false);

  const Periods periods(recording.settings());
  time.edges_ns.push_back(time.segments.front().begin_ns);
  for (PlotSegment& segment : time.segments) {
    segment.first_bucket = time.edges_ns.size() - 1;
    const Part shown_part = part.of(segment);
    const std::int64_t length_ns = shown_part.length_ns();
    if (length_ns <= 0) continue;
    if (shown_part.begin_ns > segment.begin_ns) {
      time.hidden_before = 1;
      time.edges_ns.push_back(shown_part.begin_ns);
    }
    double share = static_cast<double>(length_ns) / static_cast<double>(cells_ns + between_ns);
    if (time.cut && cells_ns > 0 && between_ns > 0) {
      share =
          segment.of_cells
              ? (1 - kShareBetween) * static_cast<double>(length_ns) / static_cast<double>(cells_ns)
              : kShareBetween * static_cast<double>(length_ns) / static_cast<double>(between_ns);
    }
    const auto buckets =
        std::max<std::int64_t>(static_cast<std::int64_t>(share * static_cast<double>(most)), 1);
    const std::int64_t period_ns = periods.at(shown_part.begin_ns);
    if (length_ns / period_ns <= buckets) {
      add_at_samples(recording, segment, shown_part, std::min(period_ns / 4, length_ns / 2),
                     time.edges_ns);
    } else {
      add_evenly(shown_part, static_cast<std::size_t>(buckets), time.edges_ns);
    }
    if (shown_part.end_ns < segment.end_ns) {
      time.hidden_behind = 1;
      time.edges_ns.push_back(segment.end_ns);
    }
    segment.buckets = time.edges_ns.size() - 1 - segment.first_bucket;
  }
  std::erase_if(time.segments, [](const PlotSegment& one) { return one.buckets == 0; });
  if (time.segments.empty()) time.edges_ns.clear();
  return time;
}

}  // namespace store
