#pragma once
// The time of a plot, cut at the edges of its cells and then into buckets.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "store/cell_span.hpp"
#include "store/plot_data.hpp"
#include "store/recording.hpp"

namespace store {

// A cell, several short ones together, or the time between two of them.
struct PlotSegment {
  std::int64_t begin_ns = 0;  // as it is drawn
  std::int64_t end_ns = 0;
  std::int64_t first_ns = 0;  // the rows that belong to it: gauges
  std::int64_t last_ns = 0;
  std::int64_t from_ns = 0;  // counters: from its first to its last sample, as in a summary
  std::int64_t to_ns = 0;
  bool of_cells = false;
  std::size_t first_bucket = 0;
  std::size_t buckets = 0;
};

struct PlotTime {
  std::vector<PlotSegment> segments;   // ascending
  std::vector<std::int64_t> edges_ns;  // of the buckets; empty: there is no time
  bool cut = false;
  std::int64_t begin_ns = 0;  // of the whole plot
  std::int64_t end_ns = 0;
  // Of a window: what its outermost segments have before and behind it is one bucket each, which
  // isn't shown.
  std::size_t hidden_before = 0;
  std::size_t hidden_behind = 0;

  [[nodiscard]] std::span<const std::int64_t> shown_edges_ns() const noexcept {
    return std::span(edges_ns).subspan(hidden_before,
                                       edges_ns.size() - hidden_before - hidden_behind);
  }
};

// `spans` are of the cells shown, by their begin; without any the whole recording is shown. A cell
// has buckets of its own where there is room, at most one for each sample then; cells that are too
// short for one share it. May give a few more buckets than `most_buckets`. Reads the rows of what
// has fewer samples than buckets. Of a window there are the segments that it touches, whole; throws
// std::invalid_argument where it touches none.
PlotTime plot_time(const Recording& recording, const std::vector<CellSpan>& spans,
                   std::size_t most_buckets, std::optional<bool> cut,
                   const std::optional<PlotWindow>& window = std::nullopt);

}  // namespace store
