#pragma once
// Sizes as people read them, in errors and in what a cell shows.

#include <string>

namespace base {

std::string three_digits(double value);  // that count: "0", "1.25", "12.5", "125"
std::string bytes_text(double bytes);    // "0 B", "512 B", "12.0 MiB", "1.25 GiB"

}  // namespace base
