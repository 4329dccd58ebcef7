#pragma once
// Lines that a summary has only when there is something to say: cards, who used it, what held the
// cell up.

#include <vector>

#include "store/summary.hpp"
#include "view/summary_lines.hpp"

namespace view {

// For one level, behind its own lines. A card has one when there is one; waiting, throttling, swap
// and crowding only when they hurt.
std::vector<SummaryLine> other_lines(const store::CellSummary& summary,
                                     const store::LevelSummary& level);

}  // namespace view
