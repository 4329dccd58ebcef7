#pragma once
// A curve in one line of text, a column for each value.

#include <span>
#include <string>

namespace view {

// `bottom` and below is the lowest block (▁), `top` and above the highest (█), what lies between is
// rounded to the nearest of eight. A value that isn't a number is a gap: a space. Where `top` isn't
// above `bottom`, every value is the lowest block.
std::string sparkline(std::span<const double> values, double bottom, double top);

}  // namespace view
