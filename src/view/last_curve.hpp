#pragma once
// What memory did before a kernel died, in one line.

#include <string>

#include "store/ending.hpp"
#include "store/recording.hpp"

namespace view {

// "▁▂▃▅▇█ 505 MiB in the last 12 s, max 511 MiB": the tree's memory over the cell that ran, its
// last minute at most, or over the last minute. "" when nothing was measured, or for a recording
// that was closed. Reads a minute of rows.
std::string last_curve(const store::Recording& recording, const store::Ending& ending);

}  // namespace view
