#pragma once
// What a summary says, line by line: the text and the HTML form show the same words.

#include <optional>
#include <string>
#include <vector>

#include "store/summary.hpp"

namespace view {

struct SummaryLine {
  std::string label;          // "CPU", "memory"; empty: a heading
  std::string text;           // plain, on one line; not escaped for HTML
  std::optional<double> bar;  // a share of the capacity, 0 to 1
  bool note = false;          // about the figures, not one of them
};

// "In [3] · 6.02 s", or "#3 · …" for a cell without execution count.
std::string summary_title(const store::CellSummary& summary);

// Only the levels asked for: "" for all.
std::vector<SummaryLine> summary_lines(const store::CellSummary& summary, const std::string& level);

}  // namespace view
