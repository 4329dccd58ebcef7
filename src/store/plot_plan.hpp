#pragma once
// Which columns of a recording make which curves of a plot.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/plot_data.hpp"
#include "store/rates.hpp"

namespace store {

// One curve, and the column that it is made of.
struct PlotColumn {
  enum class How {
    kRate,    // a counter: gain a second
    kCpu,     // a counter: share of the level's capacity
    kCore,    // a counter of many alike: only its mean
    kGauge,   // a value that holds until the next sample
    kMemory,  // the same, but upper bounds only where nothing else is known
  };
  std::string name;  // "node.cpu_time_ns"
  std::string level;
  How how = How::kGauge;
  double scale = 1;        // of the column's unit, or of its rate a second
  double most = 0;         // what is above it is rounding; 0: none
  RateRule rule{};         // of counters
  bool real = false;       // of a custom monitor
  std::size_t metric = 0;  // whose curve it is
  std::size_t panel = 0;
  std::size_t track = 0;
};

struct PlotPlan {
  std::vector<PlotMetric> metrics;  // with names and without values
  std::vector<PlotColumn> columns;
};

PlotPlan plot_plan(const Recording& recording);

// All ids that there may be, in the order of the plan.
std::vector<std::string_view> plot_metric_ids();

}  // namespace store
