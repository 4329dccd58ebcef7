#pragma once
// A plot in the forms that a notebook stores. Everything of the user's is escaped, controls and
// marks that turn the direction of writing around are shown as escapes.

#include <string>

#include "store/plot_data.hpp"

namespace view {

// The object that docs/formats.md describes ("version": 1), on one line, UTF-8, without "<": it may
// stand in a page's script.
std::string plot_json(const store::PlotData& data);

// A line for each curve: its name, its highest values over time, lowest, highest and mean.
std::string plot_text(const store::PlotData& data);

// "In [5]", or "#3" for what has no such number.
std::string plot_label(const store::PlotCell& cell);

}  // namespace view
