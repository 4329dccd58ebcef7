#pragma once
// A plot as a picture: panels over one time axis, cells as labelled bands.

#include <string>

#include "store/plot_data.hpp"

namespace view {

struct SvgOptions {
  double width = 900;
};

// A whole SVG document, about 25 kB at most for the usual metrics, readable in light and dark (it
// brings its own background and follows the reader's colour scheme), with title and description
// for screen readers. No script, no reference to anything outside. When there is nothing to show
// it says so.
std::string plot_svg(const store::PlotData& data, const SvgOptions& options = {});

}  // namespace view
