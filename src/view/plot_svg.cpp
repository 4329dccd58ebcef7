#include "view/plot_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "view/escape.hpp"
#include "view/history.hpp"
#include "view/plot.hpp"
#include "view/plot_axes.hpp"
#include "view/plot_curves.hpp"
#include "view/plot_panel.hpp"
#include "view/plot_path.hpp"
#include "view/plot_words.hpp"

namespace view {
namespace {

constexpr double kLeft = 72;
constexpr double kMargin = 18;
constexpr double kStripTop = 42;
constexpr double kStripHeight = 18;
constexpr double kPanelGap = 14;
constexpr double kAxisHeight = 34;
constexpr std::size_t kMostBytesOfCurves = 12'000;
constexpr std::size_t kBytesOfPoint = 8;
constexpr std::size_t kMostCode = 60;
constexpr double kLeastBand = 0.7;  // px

// The picture's own background: a notebook's theme and the reader's colour scheme may differ.
constexpr std::string_view kStyle =
    "text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
    "Sans',sans-serif;fill:#59636e}"
    ".b{fill:#fff;stroke:#d1d9e0}.x{fill:#fff}.o{stroke:#fff;stroke-width:1.5;paint-order:stroke}"
    ".h{font-size:14px;font-weight:600;fill:#1f2328}.t{font-size:13px;font-weight:600;fill:#1f2328}"
    ".n{font-size:11px;font-weight:400;fill:#59636e}.e{text-anchor:end}.l{text-anchor:middle}"
    ".k{font-size:11px;fill:#1f2328}.y{font:10.5px ui-monospace,'DejaVu Sans Mono',monospace}"
    ".g{stroke:#818b98;stroke-opacity:.22}.d{stroke:#59636e;stroke-dasharray:5 4;fill:none}"
    ".v{stroke:#818b98;opacity:.09}.w{stroke:#3b82f6;opacity:.16}.r{stroke:#ef4444;opacity:.22}"
    ".a{stroke:#f59e0b;opacity:.25}.m{fill-opacity:.3}.j{fill-opacity:.13}"
    ".i{stroke:#818b98;stroke-dasharray:2 3}"
    "@media(prefers-color-scheme:dark){text,.n{fill:#9da7b3}.b{fill:#12161c;stroke:#3d444d}"
    ".x{fill:#12161c}.o{stroke:#12161c}.h,.t,.k{fill:#f0f6fc}.d{stroke:#9da7b3}"
    ".w{opacity:.26}}";
constexpr std::array<std::string_view, 6> kPalette{"#3b82f6", "#f59e0b", "#10b981",
                                                   "#ef4444", "#8b5cf6", "#06b6d4"};
// From idle to busy.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kHeat{{{"#818b98", ".14"},
                                                                              {"#3b82f6", ".28"},
                                                                              {"#3b82f6", ".58"},
                                                                              {"#3f76f5", ".95"},
                                                                              {"#6d4df2", "1"},
                                                                              {"#9429e0", "1"}}};

class Picture {
 public:
  Picture(const store::PlotData& data, double width)
      : data_(data), width_(width), right_(width - kMargin), time_(data, kLeft, right_) {
    for (const std::string& id : data.shown) {
      const store::PlotMetric* metric = data.metric(id);
      const store::PlotPanel* panel = metric == nullptr ? nullptr : shown_panel(data, *metric);
      if (panel != nullptr) panels_.emplace_back(metric, panel);
    }
    top_ = kStripTop + (data.cells.empty() ? 0 : kStripHeight) + kPanelGap;
    bottom_ = top_ - kPanelGap;
    for (const auto& [metric, panel] : panels_)
      bottom_ += kPanelGap + panel_height(*metric, *panel);
    height_ = bottom_ + kAxisHeight;
  }

  std::string draw() {
    head();
    title();
    bands();
    std::size_t tracks = 0;
    for (const auto& [metric, panel] : panels_) tracks += metric->heat ? 0 : weight_of(*panel);
    PanelPlace place{kLeft, right_, top_, 0};
    place.most_points = std::clamp<std::size_t>(
        kMostBytesOfCurves / kBytesOfPoint / std::max<std::size_t>(tracks, 1), 60, 420);
    for (const auto& [metric, panel] : panels_) {
      place.top = add_panel(data_, *metric, *panel, time_, place, svg_) + kPanelGap;
    }
    cuts();
    axis();
    svg_ += "</svg>";
    return std::move(svg_);
  }

 private:
  template <typename... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Arguments>(arguments)...);
  }

  // How many lines its curves are drawn with: a band has two more.
  static std::size_t weight_of(const store::PlotPanel& panel) {
    std::size_t lines = 0;
    for (const store::PlotTrack& track : panel.tracks) lines += track.min.empty() ? 1 : 3;
    return lines;
  }

  void head() {
    put("<svg xmlns='http://www.w3.org/2000/svg' role='img' aria-labelledby='a c' width='{0:.0f}' "
        "height='{1:.0f}' viewBox='0 0 {0:.0f} {1:.0f}'>",
        width_, height_);
    put("<title id='a'>{}</title><desc id='c'>{}</desc>", html_escaped(plot_title(data_)),
        html_escaped(plot_description(data_)));
    put("<style>{}", kStyle);
    for (std::size_t i = 0; i < kPalette.size(); ++i) {
      put(".c{0}{{stroke:{1};stroke-width:1.6;stroke-linejoin:round;fill:none}}.f{0}{{fill:{1}}}",
          i, kPalette[i]);
    }
    for (std::size_t i = 0; i < kHeat.size(); ++i) {
      put(".q{0}{{fill:{1};stroke:{1};opacity:{2}}}", i, kHeat[i].first, kHeat[i].second);
    }
    put("</style><defs><pattern id='h' width='7' height='7' patternUnits='userSpaceOnUse' "
        "patternTransform='rotate(45)'><path d='M0 0V7' stroke='#818b98' stroke-width='2.4' "
        "stroke-opacity='.4'/></pattern>");
    put("</defs><rect x='.5' y='.5' width='{:.0f}' height='{:.0f}' rx='8' class='b'/>", width_ - 1,
        height_ - 1);
  }

  void title() {
    const std::string title = plot_title(data_);
    const std::string scope = plot_scope(data_);
    put("<text x='{:.0f}' y='27' class='h'>{}</text>", kMargin, html_escaped(title));
    if (text_width(title, 15) + text_width(scope, 11) + 3 * kMargin < width_) {
      put("<text x='{:.0f}' y='27' class='e'>{}</text>", right_, html_escaped(scope));
    }
  }

  static std::string_view class_of(const store::PlotCell& cell) noexcept {
    if (cell.outcome == "error" || cell.outcome == "died") return "r";
    return cell.outcome == "interrupted" ? "a" : "w";
  }

  // A strip of cells on top, and a faint band through all panels below each.
  void bands() {
    if (data_.cells.empty()) return;
    std::array<std::pair<std::string_view, PlotPath>, 3> strips{{{"w", {}}, {"r", {}}, {"a", {}}}};
    PlotPath below;
    std::string labels;
    const double below_top = kStripTop + kStripHeight + 3;
    double free = 0;  // where the next label may begin
    double drawn = 0;
    for (const store::PlotCell& cell : data_.cells) {
      const double left = time_.place(cell.begin_s);
      const double end_s = cell.end_s.value_or(data_.edges_s.back());
      const double right = std::max(time_.place(end_s - (end_s - cell.begin_s) * 1e-9), left + 1);
      if (right - left < kLeastBand || right < drawn + kLeastBand) continue;
      drawn = right;
      const double width = std::max(right - left - 1, kLeastBand);
      for (auto& [name, path] : strips) {
        if (name != class_of(cell)) continue;
        path.move(left + 0.5, kStripTop + kStripHeight / 2);
        path.line(left + 0.5 + width, kStripTop + kStripHeight / 2);
      }
      below.move(left + 0.5, (below_top + bottom_) / 2);
      below.line(left + 0.5 + width, (below_top + bottom_) / 2);
      add_label(cell, left, right, free, labels);
    }
    // Lines as thick as the bands are high: fewer bytes than boxes.
    put("<path class='v' stroke-width='{:.0f}' d='{}'/>", bottom_ - below_top, below.text());
    for (const auto& [name, path] : strips) {
      if (path.empty()) continue;
      put("<path class='{}' stroke-width='{:.0f}' d='{}'/>", name, kStripHeight, path.text());
    }
    svg_ += labels;
  }

  void add_label(const store::PlotCell& cell, double left, double right, double& free,
                 std::string& labels) const {
    constexpr double kPad = 5;
    std::string label = plot_label(cell);
    if (!cell.end_s) {
      label += " running";
    } else if (cell.outcome != "ok") {
      label += " " + one_line(cell.outcome, kMostCode);
    }
    double wide = text_width(label, 11);
    if (right - left < wide + 2 * kPad) {
      label = plot_label(cell);
      wide = text_width(label, 11);
    }
    if (right - left < wide + 2 * kPad || left < free) return;
    fmt::format_to(std::back_inserter(labels), "<text x='{:.0f}' y='{:.0f}' class='k'>{}</text>",
                   left + kPad, kStripTop + 13, html_escaped(label));
    free = left + wide + 2 * kPad;
    constexpr double kCodeFont = 11.5;
    const double room = right - left - wide - 4 * kPad;
    const auto characters =
        static_cast<std::size_t>(std::max(room / text_width("n", kCodeFont), 0.0));
    if (characters < 8 || cell.code.empty()) return;
    fmt::format_to(std::back_inserter(labels), "<text x='{:.0f}' y='{:.0f}' class='y'>{}</text>",
                   left + wide + 3 * kPad, kStripTop + 13,
                   html_escaped(one_line(cell.code, std::min(characters, kMostCode))));
  }

  void cuts() {
    if (time_.cuts().empty()) return;
    PlotPath path;
    for (const double at : time_.cuts()) {
      path.move(at, kStripTop);
      path.line(at, bottom_);
    }
    put("<path class='i' d='{}'/>", path.text());
  }

  void axis() {
    PlotPath path;
    path.move(kLeft, bottom_);
    path.line(right_, bottom_);
    for (const Tick& tick : time_.ticks()) {
      path.move(tick.at, bottom_);
      path.line(tick.at, bottom_ + 5);
      const bool first = tick.at < kLeft + 12;
      const bool last = tick.at > right_ - 20;
      put("<text x='{:.0f}' y='{:.0f}'{}>{}</text>",
          first  ? kLeft
          : last ? right_
                 : tick.at,
          bottom_ + 18,
          first  ? ""
          : last ? " class='e'"
                 : " class='l'",
          tick.text);
    }
    put("<path stroke='#818b98' fill='none' d='{}'/>", path.text());
  }

  const store::PlotData& data_;
  double width_, right_;
  TimeAxis time_;
  std::vector<std::pair<const store::PlotMetric*, const store::PlotPanel*>> panels_;
  double top_ = 0;
  double bottom_ = 0;
  double height_ = 0;
  std::string svg_;
};

}  // namespace

std::string plot_svg(const store::PlotData& data, const SvgOptions& options) {
  if (data.edges_s.size() < 2 || data.shown.empty()) {
    return fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' role='img' width='{0:.0f}' height='60' "
        "viewBox='0 0 {0:.0f} 60'><title>{1}</title><style>{2}</style>"
        "<rect x='.5' y='.5' width='{3:.0f}' height='59' rx='8' class='b'/>"
        "<text x='{4:.0f}' y='35'>{1}</text></svg>",
        options.width, "Nothing has been measured yet", kStyle, options.width - 1, kMargin);
  }
  return Picture(data, options.width).draw();
}

}  // namespace view
