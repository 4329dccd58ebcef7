#pragma once
// The figures of a group: those of its cells put together, the time between them left out.

#include <vector>

#include "store/groups.hpp"
#include "store/summary.hpp"

namespace store {

// Duration, ticks and totals are sums, means are weighted by the cells' time, highest and lowest
// are those of all. Where a figure is unknown in some cells, it is that of the others, and a note
// names the first of these cells; where it is in all, it is unknown for the first one's reason.
// `cells` are the group's, in the order of the history; those that still run are left out while
// others don't. The outcome is the first that isn't ok.
CellSummary summarize_group(const Recording& recording, const Group& group,
                            const std::vector<Cell>& cells);

}  // namespace store
