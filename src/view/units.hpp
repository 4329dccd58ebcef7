#pragma once
// Numbers as people read them: three digits that count, and the unit.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace view {

using base::bytes_text;
std::string seconds_text(double seconds);  // "0 s", "350 µs", "6.02 s", "3 min 05 s", "2 h 04 min"
// Three digits behind the point, as a summary's JSON has them: a text that is made of the JSON is
// the same as one made of the figures.
double rounded_percent(double percent) noexcept;
std::string percent_text(double percent);  // "0 %", "1.3 %", "98.7 %", "100 %"
std::string cores_text(double cores);      // "1 core", "1.5 cores", "128 cores"
std::string count_text(double count);      // "0", "7", "12.5", "999", "1.25k", "3.40M"

// Of a metric, by its unit: "%", "B", "B/s", "1/s", "W", "°C" or "" (a count).
std::string value_text(double value, std::string_view unit);

}  // namespace view
