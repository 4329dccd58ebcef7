#pragma once
// A cell's summary in the three forms that a notebook stores. Everything of the user's is escaped.

#include <string>

#include "store/summary.hpp"

namespace view {

// The object that docs/formats.md describes ("version": 1), on one line, UTF-8.
std::string summary_json(const store::CellSummary& summary);

// Three to six short lines for people, e.g.
//   In [3] · 6.02 s · ok
//   CPU     98.7 % of 2 cores (max 100, min 91) · 11.9 s
//   …
// level: "process" (default), "node", or "" for all levels.
std::string summary_text(const store::CellSummary& summary, const std::string& level);

// The same as a table with inline styles only (no script, style, svg, iframe), readable on light
// and dark backgrounds, under 2 kB.
std::string summary_html(const store::CellSummary& summary, const std::string& level);

}  // namespace view
