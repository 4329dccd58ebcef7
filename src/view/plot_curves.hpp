#pragma once
// A curve as the picture needs it: as many points as there is room for, and what is worth saying.

#include <cstddef>
#include <optional>
#include <vector>

#include "store/plot_data.hpp"
#include "view/plot_axes.hpp"

namespace view {

// What lies in a column of the picture. Not a number: nothing is known there.
struct PlotPoint {
  double left = 0, right = 0;  // where it begins and ends
  double min = store::kNotKnown, max = store::kNotKnown, mean = store::kNotKnown;
};

// At most about `most` points; neighbours share one so that no peak and no gap is lost. Cut time
// has none; `breaks` are before[i]: no line leads from the point before to this one.
struct PlotPoints {
  std::vector<PlotPoint> points;
  std::vector<char> breaks;
  bool band = false;  // min and max are worth drawing
};
PlotPoints points_of(const store::PlotData& data, const store::PlotTrack& track,
                     const TimeAxis& axis, std::size_t most);

// Over all known buckets; nullopt: there are none.
struct PlotFigures {
  double min = 0, mean = 0, max = 0;
  double max_at_s = 0;
};
std::optional<PlotFigures> figures_of(const store::PlotData& data, const store::PlotTrack& track);

// The panel that is drawn for a metric: of the level, else the node's for what only the node has.
const store::PlotPanel* shown_panel(const store::PlotData& data, const store::PlotMetric& metric);

}  // namespace view
