#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "view/history.hpp"
#include "view/summary.hpp"
#include "view/summary_lines.hpp"

namespace view {
namespace {

// Only what JupyterLab's sanitizer lets through in an untrusted notebook: no currentColor, no
// var(), opacity with a digit before the point. Text takes the page's own colour.
constexpr std::string_view kCell = "text-align:left";  // notebooks align numbers to the right
constexpr double kBarEm = 6;
constexpr std::size_t kMostBytes = 1990;

std::string bar(double share) {
  const double filled = std::clamp(share, 0.0, 1.0) * kBarEm;
  return fmt::format(
      "<div style=\"width:{}em;background-color:#8885\">"
      "<div style=\"width:{:.2f}em;height:0.6em;background-color:#48d\"></div></div>",
      kBarEm, filled);
}

std::string row(const SummaryLine& line, bool with_bar) {
  const std::string text = html_escaped(line.text);
  if (line.label.empty()) {
    return fmt::format("<tr><td colspan=\"3\" style=\"{}\"><b>{}</b></td></tr>", kCell, text);
  }
  const std::string label = html_escaped(line.label);
  if (!line.bar || !with_bar) {
    return fmt::format(
        "<tr><td style=\"{0}\">{1}</td><td colspan=\"2\" style=\"{0}\">{2}</td></tr>", kCell, label,
        text);
  }
  return fmt::format(
      "<tr><td style=\"{0}\">{1}</td><td style=\"{0}\">{2}</td><td style=\"{0}\">{3}</td></tr>",
      kCell, label, bar(*line.bar), text);
}

std::string table(const std::vector<SummaryLine>& lines, bool with_bars) {
  std::string html = "<table cellpadding=\"3\" style=\"border-collapse:collapse;margin:0\">";
  for (const SummaryLine& line : lines) {
    if (!line.note) html += row(line, with_bars);
  }
  return html + "</table>";
}

}  // namespace

std::string summary_html(const store::CellSummary& summary, const std::string& level) {
  std::string html =
      fmt::format("<div style=\"font-size:90%\"><b>{}</b>", html_escaped(summary_title(summary)));
  const std::vector<SummaryLine> lines = summary_lines(summary, level);
  const std::string with_bars = table(lines, true);
  html += html.size() + with_bars.size() < kMostBytes ? with_bars : table(lines, false);
  // Notes as far as they fit: the text form has them all.
  std::string notes;
  for (const SummaryLine& line : lines) {
    if (!line.note) continue;
    const std::string note = html_escaped(line.text);
    const std::string_view opening = notes.empty() ? "<div style=\"opacity:0.7\">" : "<br>";
    constexpr std::string_view kClosing = "</div></div>";
    if (html.size() + notes.size() + opening.size() + note.size() + kClosing.size() > kMostBytes) {
      break;
    }
    notes += opening;
    notes += note;
  }
  if (!notes.empty()) html += notes + "</div>";
  return html + "</div>";
}

}  // namespace view
