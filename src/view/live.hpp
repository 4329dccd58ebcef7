#pragma once
// A recording that is still written, as a few lines for a terminal: what runs, and the curves.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/recording.hpp"

namespace view {

// At most `columns` wide, printable UTF-8 only. `now_ns`: the time of looking; the newest sample's
// where nothing is to be said about the time since.
//   fit.ipynb · node7 · 3 cells
//   In [3] · running for 12.4 s
//     model.fit(x, y)
//   CPU     ▁▅███████  98.7 % of 2 cores · max 100 %
//   memory  ▁▂▃▄▅▆▇██  1.25 GiB · max 1.25 GiB of 23.5 GiB
//   read    …  write  …; the job's memory where it is in one; a line for each GPU
// The curves go over the cell, its last two minutes at most; without a cell over the last minute.
// A few ms: rows of two minutes at most are read.
std::vector<std::string> live_lines(const store::Recording& recording, std::int64_t now_ns,
                                    std::size_t columns);

// The newest cell that has no end yet; nullptr when the kernel is idle. Not longer than the
// recording's next refresh.
const store::Cell* running_cell(const store::Recording& recording) noexcept;

// "In [3]", or "#3" without an execution count.
std::string cell_name(const store::Cell& cell);

}  // namespace view
