#pragma once
// What the curves of a plot are seen against: capacities, limits, and what 100 % is.

#include "store/plot_data.hpp"
#include "store/recording.hpp"

namespace store {

// Into the panels of the metrics that have curves. Reads the rows of the last second up to end_ns.
void add_plot_lines(const Recording& recording, std::int64_t end_ns,
                    std::vector<PlotMetric>& metrics);

}  // namespace store
