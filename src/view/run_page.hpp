#pragma once
// A whole run as one HTML document that needs nothing beside it: to send, to keep, to print.

#include <string>
#include <utility>
#include <vector>

#include "store/plot_data.hpp"
#include "view/history.hpp"

namespace view {

struct RunPage {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // name, what is to be said; plain text
  store::PlotData plot;                                    // of all cells
  std::vector<HistoryRow> rows;                            // `source` is the whole code
  std::string level;                                       // of the summaries; "": all
  std::vector<std::string> remarks;  // gaps, what is missing and why; plain text
};

// Title and facts; the plot (a picture, and the interactive page over it where scripts run); the
// history; each cell with its code and summary; remarks. Everything of the user's is escaped. The
// interactive parts are sandboxed, nothing is loaded, and the document's policy forbids it.
std::string run_page(const RunPage& run);

}  // namespace view
