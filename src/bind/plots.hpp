#pragma once
// A plot as Python gets it. No Python in here.

#include <string>
#include <vector>

#include "store/plot_data.hpp"

namespace bind {

struct Plot {
  std::string text, svg, json;
};

// Of a window there are only the data. `cells` and `sources` as store::plot_data takes them. Throws
// std::invalid_argument as it does.
Plot plot_of(const store::Recording& recording, const std::vector<store::Cell>& cells,
             const std::vector<std::string>& sources, const store::PlotRequest& request);

// The names that PlotRequest::metrics may have.
std::vector<std::string> plot_metrics();

}  // namespace bind
