#include "store/cell_span.hpp"

#include <algorithm>
#include <cstdlib>

#include "store/ending.hpp"

namespace store {
namespace {

bool is_near(std::int64_t a_ns, std::int64_t b_ns) noexcept {
  return std::abs(a_ns - b_ns) <= kNearNs;
}

// The edge sample, or the nearest one, if it is near; else 0. Times are positive.
std::int64_t near_sample(const Recording& recording, std::int64_t time_ns, std::int64_t sample_ns,
                         bool trusting) {
  if (sample_ns > 0 && is_near(sample_ns, time_ns) &&
      (trusting || recording.sample_at_or_after(sample_ns) == sample_ns)) {
    return sample_ns;
  }
  const std::int64_t before_ns = recording.sample_at_or_before(time_ns);
  const std::int64_t after_ns = recording.sample_at_or_after(time_ns);
  const bool before = before_ns > 0 && is_near(before_ns, time_ns);
  const bool after = after_ns > 0 && is_near(after_ns, time_ns);
  if (before && after) return time_ns - before_ns < after_ns - time_ns ? before_ns : after_ns;
  return before ? before_ns : after ? after_ns : 0;
}

void end_without_mark(const Recording& recording, CellSpan& span) {
  const Ending ending = ending_of(recording);
  span.end.time_ns = std::max(span.begin.time_ns, ending.time_ns);
  if (ending.kind == Ending::Kind::kRunning) {
    span.running = true;
  } else if (ending.kind == Ending::Kind::kClosed) {
    // The kernel lives on, but nobody measured how the cell went on.
    span.outcome = record::Outcome::kInterrupted;
    span.outcome_text = "the recording was closed in this cell";
  } else {
    span.outcome = record::Outcome::kDied;
    span.outcome_text = ending.text;
  }
}

}  // namespace

CellSpan span_of(const Recording& recording, const Cell& cell, bool trusting) {
  CellSpan span;
  // Hostile times: from here on they are positive, so that differences never overflow.
  span.begin.time_ns = std::max<std::int64_t>(cell.begin.time_ns, 1);
  span.begin.marks = &cell.begin.counters;
  std::int64_t end_sample_ns = 0;
  if (cell.end) {
    span.end.time_ns = std::max(cell.end->time_ns, span.begin.time_ns);
    span.end.marks = &cell.end->counters;
    span.outcome = cell.end->outcome;
    span.engine = cell.end->engine;
    end_sample_ns = cell.end->sample_ns;
  } else {
    end_without_mark(recording, span);
  }

  span.begin.sample_ns = near_sample(recording, span.begin.time_ns, cell.begin.sample_ns, trusting);
  span.end.sample_ns = near_sample(recording, span.end.time_ns, end_sample_ns, trusting);
  span.begin.near = span.begin.sample_ns > 0;
  span.end.near = span.end.sample_ns > 0;
  if (!span.begin.near) {
    const std::int64_t first_ns = recording.sample_at_or_after(span.begin.time_ns);
    const std::int64_t limit_ns = span.end.near ? span.end.sample_ns : span.end.time_ns;
    if (first_ns > 0 && first_ns <= limit_ns) span.begin.sample_ns = first_ns;
  }
  if (!span.end.near) {
    const std::int64_t last_ns = recording.sample_at_or_before(span.end.time_ns);
    const std::int64_t limit_ns = span.begin.near ? span.begin.sample_ns : span.begin.time_ns;
    if (last_ns > 0 && last_ns >= limit_ns) span.end.sample_ns = last_ns;
  }
  if (span.begin.near && span.end.near) {
    span.end.sample_ns = std::max(span.end.sample_ns, span.begin.sample_ns);
  }
  if (span.begin.sample_ns == 0 || span.end.sample_ns < span.begin.sample_ns) {
    span.begin.sample_ns = span.end.sample_ns = 0;
    span.begin.near = span.end.near = false;
  }
  return span;
}

}  // namespace store
