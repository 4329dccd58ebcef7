#pragma once
// The stacks that a recording holds, as lines for a terminal.

#include <cstddef>
#include <string>
#include <vector>

#include "store/recording.hpp"

namespace view {

// The newest stacks, a line each, at most `columns` wide, printable UTF-8 only: when it was, then
// threads and their frames. Files of cells are named as IPython names them, and what IPython needs
// to run a cell is one line. Long paths lose their beginning. Empty when there are none.
//   stacks at 2026-11-29 22:29:17
//   thread 4242 "python" · main thread
//     In [3]:12 in fit
//     In [3]:14 in <module>
//     … 21 more of what runs the cell
std::vector<std::string> stack_lines(const store::Recording& recording, std::size_t columns);

}  // namespace view
