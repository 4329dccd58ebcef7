#pragma once
// The history: one row a cell, oldest first.

#include <string>
#include <vector>

#include "store/recording.hpp"
#include "store/summary.hpp"

namespace view {

struct HistoryRow {
  store::CellSummary summary;
  std::string source;  // the beginning of the cell's code
};

// A plain table with a header: #k, In [n], begin (local time), duration, CPU, peak memory, I/O,
// outcome, first line of the code. "no cell has been measured yet" when empty.
std::string history_text(const std::vector<HistoryRow>& rows);
std::string history_html(const std::vector<HistoryRow>& rows);

// The text of HTML: & < > " ' escaped, bytes that aren't UTF-8 replaced by U+FFFD, control
// characters (but newline and tab) by their visible escapes.
std::string html_escaped(std::string_view text);

}  // namespace view
