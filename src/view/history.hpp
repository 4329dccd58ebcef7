#pragma once
// The history: one row a cell, oldest first; a group has one before its cells.

#include <optional>
#include <string>
#include <vector>

#include "store/recording.hpp"
#include "store/summary.hpp"

namespace view {

struct HistoryRow {  // of a cell, or of a group, as its summary says
  store::CellSummary summary;
  std::string source;      // the beginning of the cell's code
  std::string group = {};  // that the cell is in: "g1 train"; may be empty
};

// The rows of cells, whose code is `sources`, and of their groups.
std::vector<HistoryRow> history_rows(const store::Recording& recording,
                                     const std::vector<store::Group>& groups,
                                     const std::vector<store::Cell>& cells,
                                     const std::vector<std::string>& sources);

// The mean of the busiest card: by the cell's own processes where that is known, else by all.
std::optional<double> gpu_percent(const store::CellSummary& summary);

// A plain table with a header: #k, In [n], begin (local time), duration, CPU, peak memory, I/O, GPU
// where a cell has one, outcome, first line of the code. "no cell has been measured yet" when
// empty.
std::string history_text(const std::vector<HistoryRow>& rows);
std::string history_html(const std::vector<HistoryRow>& rows);

// The text of HTML: & < > " ' escaped, bytes that aren't UTF-8 replaced by U+FFFD, control
// characters (but newline and tab) by their visible escapes.
std::string html_escaped(std::string_view text);

}  // namespace view
