#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "view/history.hpp"
#include "view/summary.hpp"
#include "view/summary_lines.hpp"

namespace view {
namespace {

// Only what JupyterLab's sanitizer lets through in an untrusted notebook: no currentColor, no
// var(), opacity with a digit before the point. Text takes the page's own colour.
// Notebooks align numbers to the right and set cells apart. They stripe the rows of a table's body,
// so ours stand in its head.
constexpr std::string_view kCell = "text-align:left;padding:1px 9px 1px 0";
constexpr double kBarEm = 6;
constexpr std::size_t kMostBytes = 1990;

// No line ends between a number and its unit: the space in "23.5 GiB" becomes one that doesn't
// break.
std::string unbroken_units(std::string text) {
  constexpr std::string_view kNoBreak = "\u00A0";
  for (std::size_t at = 1; at + 1 < text.size(); ++at) {
    const bool after_number = text[at - 1] >= '0' && text[at - 1] <= '9';
    const bool before_unit =
        text[at + 1] == '%' || std::isalpha(static_cast<unsigned char>(text[at + 1])) != 0;
    if (text[at] == ' ' && after_number && before_unit) text.replace(at, 1, kNoBreak);
  }
  return text;
}

std::string bar(double share) {
  const double filled = std::clamp(share, 0.0, 1.0) * kBarEm;
  return fmt::format(
      "<div style=\"width:{}em;background-color:#8885\">"
      "<div style=\"width:{:.2f}em;height:0.6em;background-color:#48d\"></div></div>",
      kBarEm, filled);
}

std::string row(const SummaryLine& line, bool with_bar) {
  const std::string text = unbroken_units(html_escaped(line.text));
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
  std::string html =
      "<table style=\"border-collapse:collapse;margin:0\"><thead style=\"border:0\">";
  for (const SummaryLine& line : lines) {
    if (!line.note) html += row(line, with_bars);
  }
  return html + "</thead></table>";
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
