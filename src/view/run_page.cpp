#include "view/run_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "view/history_page.hpp"
#include "view/page.hpp"
#include "view/plot.hpp"
#include "view/plot_svg.hpp"
#include "view/summary.hpp"
#include "view/summary_lines.hpp"

namespace view {
namespace {

// The frames' own policy is stricter (the scripts' hashes); a frame obeys both.
constexpr std::string_view kHead = R"(<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:">
<style>
:root { color-scheme: light dark }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em; overflow-wrap: anywhere } h2 { font-size: 1.15em; margin: 2em 0 0.6em }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: 0.6em; border-radius: 6px }
.facts th { text-align: left; font-weight: normal; color: #808080; padding-right: 1.5em; vertical-align: top }
.facts td { overflow-wrap: anywhere }
.box { display: grid } .box > * { grid-area: 1/1; min-width: 0 }
.box img { max-width: 100% } .box iframe { width: 100%; border: 0 }
.scroll { overflow-x: auto }
details { border-top: 1px solid #8884; padding: 0.5em 0 } summary { cursor: pointer; overflow-wrap: anywhere }
@media print { iframe { display: none } }
</style>
)";

// For an address in an attribute: everything but letters, digits and what means nothing there.
std::string url_encoded(std::string_view text) {
  constexpr std::string_view kPlain = " -_.~/:;=,()";
  std::string encoded;
  encoded.reserve(text.size() + text.size() / 4);
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x80 && (std::isalnum(byte) != 0 || kPlain.find(letter) != kPlain.npos)) {
      encoded += letter;
    } else {
      encoded += fmt::format("%{:02X}", byte);
    }
  }
  return encoded;
}

// `beneath` shows until the page over it has drawn, and where scripts don't run. A height that is a
// multiple of kThemeStep says that the page may follow the system's theme (frontend/src/theme.js).
std::string laid_over(const std::string& beneath, std::string_view title, const std::string& page,
                      int height_px) {
  constexpr int kThemeStep = 12;
  height_px += (kThemeStep - height_px % kThemeStep) % kThemeStep;
  return fmt::format(
      "<div class=\"box\"><div>{}</div><iframe title=\"{}\" sandbox=\"allow-scripts "
      "allow-downloads\" style=\"height:{}px\" srcdoc=\"{}\"></iframe></div>\n",
      beneath, html_escaped(title), height_px, html_escaped(page));
}

std::string plot_section(const store::PlotData& plot) {
  constexpr int kControlsPx = 110;
  constexpr int kPanelPx = 175;
  const std::string image = fmt::format("<img alt=\"{}\" src=\"data:image/svg+xml,{}\">",
                                        html_escaped(plot_text(plot)), url_encoded(plot_svg(plot)));
  const int panels = static_cast<int>(std::max<std::size_t>(plot.shown.size(), 1));
  return laid_over(image, "Plot of the run", page_html(plot_json(plot)),
                   kControlsPx + panels * kPanelPx);
}

std::string history_section(const std::vector<HistoryRow>& rows) {
  constexpr std::size_t kMostRowsShown = 16;
  constexpr int kHeadPx = 66;
  constexpr int kRowPx = 29;
  constexpr int kLeastPx = 204;  // the code of a row has room
  const auto shown = static_cast<int>(std::min(rows.size(), kMostRowsShown));
  const int height_px = std::max(kHeadPx + shown * kRowPx, kLeastPx);
  const std::string table = fmt::format("<div class=\"scroll\" style=\"max-height:{}px\">{}</div>",
                                        height_px, history_html(rows));
  return laid_over(table, "The history", page_html(history_page_json(rows)), height_px);
}

std::string cell_section(const HistoryRow& row, const std::string& level) {
  const auto& group = row.summary.group;
  const std::string id =
      group ? fmt::format("group-{}", group->index) : fmt::format("cell-{}", row.summary.index);
  const std::string code =
      group ? std::string() : fmt::format("<pre>{}</pre>", html_escaped(row.source));
  return fmt::format("<details id=\"{}\"><summary>{}</summary>{}{}</details>\n", id,
                     html_escaped(summary_title(row.summary)), code,
                     summary_html(row.summary, level));
}

}  // namespace

std::string run_page(const RunPage& run) {
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n";
  html += kHead;
  html += fmt::format("<title>{0} · JUmPER</title>\n</head>\n<body>\n<h1>{0}</h1>\n",
                      html_escaped(run.title));
  html += "<table class=\"facts\">";
  for (const auto& [name, text] : run.facts) {
    html += fmt::format("<tr><th>{}</th><td>{}</td></tr>", html_escaped(name), html_escaped(text));
  }
  html += "</table>\n";
  if (!run.plot.edges_s.empty()) html += "<h2>What the run used</h2>\n" + plot_section(run.plot);
  if (!run.rows.empty()) {
    html += "<h2>History</h2>\n" + history_section(run.rows) + "<h2>Cells</h2>\n";
  }
  for (const HistoryRow& row : run.rows) html += cell_section(row, run.level);
  if (!run.remarks.empty()) html += "<h2>What must be known</h2>\n<ul>";
  for (const std::string& remark : run.remarks) html += "<li>" + html_escaped(remark) + "</li>";
  if (!run.remarks.empty()) html += "</ul>\n";
  return html + "</body>\n</html>\n";
}

}  // namespace view
