#include <algorithm>

#include "view/escape.hpp"
#include "view/summary.hpp"
#include "view/summary_lines.hpp"

namespace view {

std::string summary_text(const store::CellSummary& summary, const std::string& level) {
  std::vector<SummaryLine> lines = summary_lines(summary, level);
  for (SummaryLine& line : lines) {  // names of levels and devices are as the recording has them
    line.label = one_line(line.label, std::string::npos);
    line.text = one_line(line.text, std::string::npos);
  }
  std::size_t columns = 0;
  for (const SummaryLine& line : lines) columns = std::max(columns, width(line.label));
  std::string text = summary_title(summary);
  for (const SummaryLine& line : lines) {
    text += '\n';
    if (!line.label.empty()) text += padded(line.label, columns + 2);
    text += line.text;
  }
  return text;
}

}  // namespace view
