#pragma once
// What a plot is drawn from: every metric of every level over the time of some cells, reduced to a
// few hundred buckets that keep each peak and each gap. view::plot_json writes it out, plot_svg
// and plot_text draw it.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "store/recording.hpp"

namespace store {

inline constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

// A part of a plot's time, in seconds since its begin.
struct PlotWindow {
  double begin_s = 0;
  double end_s = 0;
};

struct PlotRequest {
  std::vector<std::int64_t> cells;   // history indices, in any order; empty: all
  std::string level = "process";     // the one first shown
  std::string group = {};            // whose cells these are: "g1 train"; may be empty
  std::vector<std::string> metrics;  // ids of those first shown, in this order; empty: the usual
  std::size_t most_buckets = 600;
  // Whether the time between cells is left out; nullopt: when it is longer than the cells.
  std::optional<bool> cut_between_cells = std::nullopt;
  // The buckets all lie in here: a nearer look at a plot of the same cells, with its begin, its
  // cells and its lines. A metric that has no value in here is left out.
  std::optional<PlotWindow> window = std::nullopt;
};

// One curve. Each list has a value for each bucket, kNotKnown where nothing is known. `mean` is
// weighted by time; `min` and `max` are empty where they are the mean everywhere.
struct PlotTrack {
  std::string name;
  std::vector<double> min, max, mean;
};

struct PlotLine {  // a capacity or a limit
  std::string label;
  double value = 0;
};

struct PlotPanel {
  std::string level;
  std::string note;  // what must be known to read it: "of 2 cores"; may be empty
  std::vector<PlotLine> lines;
  std::optional<double> top;  // the natural end of the axis
  std::vector<PlotTrack> tracks;
};

struct PlotMetric {
  std::string id, title, unit;  // unit: "%", "B", "B/s", "1/s", "W", "°C" or ""
  bool heat = false;            // many tracks alike (cores): drawn by colour, not by lines
  std::vector<PlotPanel> panels;
  [[nodiscard]] const PlotPanel* panel(std::string_view level) const noexcept;
};

// Times are seconds since PlotData::begin_wall_s.
struct PlotCell {
  std::int64_t index = 0;
  std::optional<std::int64_t> execution_count;
  double begin_s = 0;
  std::optional<double> end_s;  // absent while it runs
  std::string outcome;          // "ok", "error", "interrupted", "died"; "" while it runs
  std::string code;             // its first line
};

struct PlotGap {
  double begin_s = 0;
  double end_s = 0;
  std::string reason;
};

struct PlotData {
  std::string label, host;
  std::string group;  // as asked
  double begin_wall_s = 0;
  std::string level;                // as asked for, or the first that has data
  std::vector<std::string> levels;  // with data, in the order process, user, job, node
  std::vector<std::string> shown;   // ids of metrics
  bool cut = false;                 // the time between cells is left out
  std::vector<double> edges_s;      // of the buckets, ascending; empty: nothing to show
  std::vector<PlotCell> cells;
  std::vector<PlotGap> gaps;
  std::vector<PlotMetric> metrics;
  [[nodiscard]] const PlotMetric* metric(std::string_view id) const noexcept;
};

// `cells` and `sources` (the code of each) are those to choose from: the recording's, or these and
// what only the kernel knows so far. Reads the rows of the time once, a chunk in memory at a time.
//
// Rates follow the summary's rule (RateIntervals) and begin anew at the edges of cells, which are
// edges of buckets too: the highest `max` within a cell is the maximum of its summary. (Where
// there are so many cells that several share a bucket, it is the highest of these.) In a window
// they are the same rates, of the same samples, in narrower buckets; for this the rows of a cell
// are read from its begin on. Throws std::invalid_argument for a metric or a level that isn't
// there, with those that are, and for a window without any of the plot's time.
PlotData plot_data(const Recording& recording, const std::vector<Cell>& cells,
                   const std::vector<std::string>& sources, const PlotRequest& request);

}  // namespace store
