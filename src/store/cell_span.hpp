#pragma once
// When a cell began and ended, how it ended, and the samples that stand at its two edges.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "record/records.hpp"
#include "store/recording.hpp"

namespace store {

// A sample this near to an edge counts as the edge's own.
inline constexpr std::int64_t kNearNs = 50'000'000;

struct CellEdge {
  std::int64_t time_ns = 0;    // when the kernel marked it; without a mark the best that is known
  std::int64_t sample_ns = 0;  // of the sample that stands for it; 0: there is none
  bool near = false;           // that sample is at most kNearNs away
  const record::EdgeCounters* marks = nullptr;  // the kernel's own counters; nullptr: none
};

struct CellSpan {
  CellEdge begin, end;
  record::Outcome outcome = record::Outcome::kOk;
  std::string outcome_text;  // more about a death: "killed by signal 9 (SIGKILL)"; may be empty
  record::EngineTimes engine = {};
  bool running = false;  // then `end` is the last sample
  [[nodiscard]] std::int64_t duration_ns() const noexcept { return end.time_ns - begin.time_ns; }
  // The times of the first and the last row that speak of the cell.
  [[nodiscard]] std::int64_t first_row_ns() const noexcept {
    return begin.near ? std::min(begin.time_ns, begin.sample_ns) : begin.time_ns;
  }
  [[nodiscard]] std::int64_t last_row_ns() const noexcept {
    return std::max(end.time_ns, end.sample_ns);
  }
  // Until then is said what the sample at the end has found out. (Hostile times: no overflow.)
  [[nodiscard]] std::int64_t told_ns() const noexcept {
    constexpr std::int64_t kLatestNs = std::numeric_limits<std::int64_t>::max() - kNearNs;
    return std::min(last_row_ns(), kLatestNs) + kNearNs;
  }
};

// An edge takes its edge sample when that is near; else the nearest sample within kNearNs; else
// the outermost one inside the cell, so that what is counted between the edges is a lower bound.
// The cell must outlive the span. `trusting`: an edge sample that the marks name isn't looked for
// among the rows, which costs two reads a cell.
CellSpan span_of(const Recording& recording, const Cell& cell, bool trusting = false);

}  // namespace store
