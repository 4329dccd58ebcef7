#pragma once
// One panel of the picture: its title, its axis, and its curves or its colours.

#include <string>

#include "store/plot_data.hpp"
#include "view/plot_axes.hpp"

namespace view {

struct PanelPlace {
  double left = 0, right = 0;   // of the plot itself; labels stand to the left
  double top = 0;               // of the panel, title included
  std::size_t most_points = 0;  // of each curve
};

// Appends the panel to `svg`; where its plot ends.
double add_panel(const store::PlotData& data, const store::PlotMetric& metric,
                 const store::PlotPanel& panel, const TimeAxis& time, const PanelPlace& place,
                 std::string& svg);

// How high it will be, its title included.
double panel_height(const store::PlotMetric& metric, const store::PlotPanel& panel);

inline constexpr double kPanelTitle = 20;

// About how wide a text is, in pixels.
double text_width(std::string_view text, double font_size);

}  // namespace view
