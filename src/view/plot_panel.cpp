#include "view/plot_panel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "view/escape.hpp"
#include "view/history.hpp"
#include "view/plot_curves.hpp"
#include "view/plot_path.hpp"
#include "view/plot_words.hpp"
#include "view/units.hpp"

namespace view {
namespace {

constexpr double kPlotHeight = 88;
constexpr double kMostHeatHeight = 168;
constexpr double kMostRowHeight = 18;
constexpr double kLeastRowHeight = 5;
constexpr std::size_t kMostHeatBytes = 8000;  // of 25 kB
constexpr std::size_t kLeastColumns = 30;
constexpr std::size_t kMostLegend = 8;
constexpr double kLeastHatch = 3;  // px: what is narrower is no gap to see
constexpr std::size_t kMostName = 24;
constexpr std::size_t kHeatSteps = 6;
constexpr std::size_t kMostRowNames = 8;  // that say "core" each

class Panel {
 public:
  Panel(const store::PlotData& data, const store::PlotMetric& metric, const store::PlotPanel& panel,
        const TimeAxis& time, const PanelPlace& place, std::string& svg)
      : data_(data),
        metric_(metric),
        panel_(panel),
        time_(time),
        place_(place),
        svg_(svg),
        top_(place.top + kPanelTitle),
        bottom_(place.top + panel_height(metric, panel)),
        colour_(plot_colour(metric.id)) {}

  double add() {
    title();
    if (metric_.heat) {
      heat();
    } else {
      curves();
    }
    return bottom_;
  }

 private:
  template <typename... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Arguments>(arguments)...);
  }

  void title() {
    put("<text x='{:.0f}' y='{:.0f}' class='t'>{}", place_.left, place_.top + 13,
        html_escaped(metric_.title));
    const std::string note = panel_note(data_, metric_, panel_);
    if (!note.empty()) put("<tspan class='n' dx='6'>{}</tspan>", html_escaped(note));
    put("</text>");
    if (metric_.heat) {
      scale();
    } else {
      legend();
    }
  }

  // From the right: a mark and a name for each curve, with its figures.
  void legend() {
    double right = place_.right;
    const std::size_t count = std::min(panel_.tracks.size(), kMostLegend);
    const double y = place_.top + 13;
    const double left = place_.left + 24 + text_width(metric_.title, 13) +
                        text_width(panel_note(data_, metric_, panel_), 11);
    for (std::size_t i = count; i-- > 0;) {
      const store::PlotTrack& track = panel_.tracks[i];
      const auto figures = figures_of(data_, track);
      if (!figures) continue;
      std::string text = count == 1 ? track_figures(data_, metric_, track)
                                    : one_line(track.name, kMostName) + " · peak " +
                                          value_text(figures->max, metric_.unit);
      double width = text_width(text, 11) + (count > 1 ? 28 : 0);
      if (right - width < left) {
        text = one_line(track.name, kMostName);
        width = text_width(text, 11) + (count > 1 ? 28 : 0);
        if (right - width < left) break;
      }
      put("<text x='{:.0f}' y='{:.0f}' class='e'>", right, y);
      if (count > 1) put("<tspan class='f{}'>●</tspan> ", (i + colour_) % kPlotColours);
      put("{}</text>", html_escaped(text));
      right -= width;
    }
  }

  // What the colours mean.
  void scale() {
    const double y = place_.top + 4;
    const double high = place_.right - 34;
    put("<text x='{:.0f}' y='{:.0f}' class='e'>100 %</text>", place_.right, place_.top + 13);
    for (std::size_t i = 0; i < kHeatSteps; ++i) {
      put("<rect x='{:.0f}' y='{:.0f}' width='12' height='10' class='q{}'/>",
          high - 6 - static_cast<double>(kHeatSteps - i) * 12, y, i);
    }
    put("<text x='{:.0f}' y='{:.0f}' class='e'>0</text>", high - 10 - kHeatSteps * 12.0,
        place_.top + 13);
  }

  [[nodiscard]] double y_of(double value, double top) const {
    return bottom_ - std::clamp((value - floor_) / (top - floor_), 0.0, 1.0) * (bottom_ - top_);
  }

  void curves() {
    double highest = 0;
    double lowest = 0;  // only custom monitors have less
    std::vector<PlotPoints> curves;
    for (const store::PlotTrack& track : panel_.tracks) {
      if (const auto figures = figures_of(data_, track)) {
        highest = std::max(highest, figures->max);
        lowest = std::min(lowest, figures->min);
      }
      curves.push_back(points_of(data_, track, time_, place_.most_points));
    }
    double natural = panel_.top.value_or(0);
    for (const store::PlotLine& line : panel_.lines) natural = std::max(natural, line.value);
    const ValueAxis axis(highest, metric_.unit == "%" ? natural : 0, metric_.unit);
    double top = axis.top();
    // A limit that is near belongs into the picture.
    if (metric_.unit != "%" && highest > 0.4 * natural) top = std::max(top, natural * 1.08);
    if (lowest < 0) floor_ = -ValueAxis(-lowest, 0, metric_.unit).top();
    grid(axis, top);
    for (std::size_t i = 0; i < curves.size(); ++i) curve(curves[i], i, top);
    hatch(curves);
    lines(top);
    if (curves.size() == 1) peak(curves.front(), top);
  }

  void grid(const ValueAxis& axis, double top) {
    PlotPath path;
    std::vector<Tick> ticks = axis.ticks();
    if (floor_ < 0) ticks.push_back({floor_, value_text(floor_, metric_.unit)});
    for (const Tick& tick : ticks) {
      const double y = y_of(tick.at, top);
      path.move(place_.left, y);
      path.line(place_.right, y);
      put("<text x='{:.0f}' y='{:.1f}' class='e'>{}</text>", place_.left - 8, y + 4, tick.text);
    }
    put("<path class='g' d='{}'/>", path.text());
  }

  void curve(const PlotPoints& curve, std::size_t track, double top) {
    if (curve.band) band(curve, track, top);
    PlotPath line;
    PlotPath area;
    const auto& points = curve.points;
    const auto y = [&](std::size_t i) { return y_of(points[i].mean, top); };
    const auto middle = [&](std::size_t i) { return (points[i].left + points[i].right) / 2; };
    const auto breaks = [&](std::size_t i) {
      return i == points.size() || std::isnan(points[i].mean) || curve.breaks[i] != 0;
    };
    for (std::size_t begin = 0; begin < points.size();) {
      if (std::isnan(points[begin].mean)) {
        ++begin;
        continue;
      }
      std::size_t end = begin + 1;
      while (!breaks(end)) ++end;
      line.move(points[begin].left, y(begin));
      area.move(points[begin].left, y_of(0, top));
      area.line(points[begin].left, y(begin));
      for (std::size_t i = begin; i < end; ++i) {
        if (i > begin && i + 1 < end && is_flat(y(i - 1), y(i), y(i + 1))) continue;
        line.line(middle(i), y(i));
        area.line(middle(i), y(i));
      }
      line.line(points[end - 1].right, y(end - 1));
      area.line(points[end - 1].right, y(end - 1));
      area.line(points[end - 1].right, y_of(0, top));
      begin = end;
    }
    if (line.empty()) return;
    const std::size_t colour = (track + colour_) % kPlotColours;
    // Areas over each other say nothing.
    if (panel_.tracks.size() == 1) put("<path class='j f{}' d='{}'/>", colour, area.text());
    put("<path class='c{}' d='{}'/>", colour, line.text());
  }

  static bool is_flat(double before, double now, double after) noexcept {
    const auto tenths = [](double value) { return std::lround(value * 10); };
    return tenths(before) == tenths(now) && tenths(now) == tenths(after);
  }

  void band(const PlotPoints& curve, std::size_t track, double top) {
    PlotPath path;
    const auto& points = curve.points;
    for (std::size_t begin = 0; begin < points.size();) {
      if (std::isnan(points[begin].mean)) {
        ++begin;
        continue;
      }
      std::size_t end = begin + 1;
      while (end < points.size() && !std::isnan(points[end].mean) && curve.breaks[end] == 0) ++end;
      path.move(points[begin].left, y_of(points[begin].max, top));
      for (std::size_t i = begin; i < end; ++i) {
        path.line((points[i].left + points[i].right) / 2, y_of(points[i].max, top));
      }
      for (std::size_t i = end; i-- > begin;) {
        path.line((points[i].left + points[i].right) / 2, y_of(points[i].min, top));
      }
      path.line(points[begin].left, y_of(points[begin].min, top));
      path.close();
      begin = end;
    }
    if (!path.empty()) {
      put("<path class='m f{}'{} d='{}'/>", (track + colour_) % kPlotColours,
          panel_.tracks.size() > 1 ? " opacity='.6'" : "", path.text());
    }
  }

  // Where no curve has a value.
  void hatch(const std::vector<PlotPoints>& curves) {
    PlotPath path;
    std::vector<std::pair<double, double>> wide;
    const auto& points = curves.front().points;
    for (std::size_t begin = 0; begin < points.size();) {
      const auto none = [&](std::size_t i) {
        return std::ranges::all_of(curves,
                                   [&](const auto& one) { return std::isnan(one.points[i].mean); });
      };
      if (!none(begin)) {
        ++begin;
        continue;
      }
      std::size_t end = begin + 1;
      while (end < points.size() && none(end) && curves.front().breaks[end] == 0) ++end;
      const double width = points[end - 1].right - points[begin].left;
      if (width >= kLeastHatch) {
        path.box(points[begin].left, top_, width, bottom_ - top_);
        if (width > 90) wide.emplace_back(points[begin].left, width);
      }
      begin = end;
    }
    if (path.empty()) return;
    put("<path class='x' d='{0}'/><path fill='url(#h)' d='{0}'/>", path.text());
    for (const auto& [left, width] : wide) {
      put("<text x='{:.0f}' y='{:.0f}' class='l'>not measured</text>", left + width / 2,
          (top_ + bottom_) / 2 + 4);
    }
  }

  void lines(double top) {
    for (const store::PlotLine& line : panel_.lines) {
      if (line.value > top * 1.001) continue;
      const double y = y_of(line.value, top);
      put("<path class='d' d='M{:.0f} {:.1f}H{:.0f}'/>", place_.left, y, place_.right);
      put("<text x='{:.0f}' y='{:.1f}' class='e o'>{}{}</text>", place_.right - 6, y + 12,
          html_escaped(line.label),
          metric_.unit == "%" ? "" : " " + value_text(line.value, metric_.unit));
    }
  }

  void peak(const PlotPoints& curve, double top) {
    const PlotPoint* highest = nullptr;
    for (const PlotPoint& point : curve.points) {
      if (std::isnan(point.mean)) continue;
      if (highest == nullptr || point.max > highest->max) highest = &point;
    }
    if (highest == nullptr || !(highest->max > 0)) return;
    put("<circle cx='{:.1f}' cy='{:.1f}' r='3' class='f{} o'/>",
        (highest->left + highest->right) / 2, y_of(highest->max, top), colour_ % kPlotColours);
  }

  struct Colours {
    std::array<PlotPath, kHeatSteps> paths;
    PlotPath unknown;
    [[nodiscard]] std::size_t bytes() const {
      std::size_t sum = unknown.text().size();
      for (const PlotPath& path : paths) sum += path.text().size();
      return sum;
    }
  };

  void heat() {
    const double row_height = (bottom_ - top_) / static_cast<double>(rows());
    // As fine as there is room for: what stays alike takes little.
    std::size_t most = place_.most_points;
    Colours colours = coloured(most);
    while (colours.bytes() > kMostHeatBytes && most > kLeastColumns) {
      most = most * 3 / 4;
      colours = coloured(most);
    }
    // A line as thick as the row takes fewer bytes than a box.
    const double thick = row_height - (row_height > 6 ? 1 : 0.5);
    for (std::size_t i = 0; i < kHeatSteps; ++i) {
      const PlotPath& path = colours.paths[i];
      if (path.empty()) continue;
      put("<path class='q{}' stroke-width='{:.1f}' d='{}'/>", i, thick, path.text());
    }
    if (!colours.unknown.empty()) {
      put("<path stroke='url(#h)' stroke-width='{:.1f}' d='{}'/>", thick, colours.unknown.text());
    }
    for (std::size_t row = 0; row < rows(); ++row) {
      const auto [first, last] = cores_of(row);
      label_row(first, last, row, top_ + (static_cast<double>(row) + 0.5) * row_height);
    }
  }

  [[nodiscard]] Colours coloured(std::size_t most) const {
    const double row_height = (bottom_ - top_) / static_cast<double>(rows());
    Colours colours;
    for (std::size_t row = 0; row < rows(); ++row) {
      const auto [first, last] = cores_of(row);
      add_row(points_of(data_, mean_of(first, last), time_, most),
              top_ + (static_cast<double>(row) + 0.5) * row_height, colours.paths, colours.unknown);
    }
    return colours;
  }

  // The first and the last that share a row.
  [[nodiscard]] std::pair<std::size_t, std::size_t> cores_of(std::size_t row) const {
    const std::size_t cores = panel_.tracks.size();
    const std::size_t per_row = (cores + rows() - 1) / rows();
    return {std::min(row * per_row, cores - 1), std::min((row + 1) * per_row, cores) - 1};
  }

  static void add_row(const PlotPoints& row, double y, std::array<PlotPath, kHeatSteps>& paths,
                      PlotPath& unknown) {
    const auto step = [&](std::size_t i) {
      if (std::isnan(row.points[i].mean)) return kHeatSteps;
      const double share = std::clamp(row.points[i].mean / 100, 0.0, 1.0);
      return static_cast<std::size_t>(std::lround(share * (kHeatSteps - 1)));
    };
    for (std::size_t begin = 0; begin < row.points.size();) {
      std::size_t end = begin + 1;
      while (end < row.points.size() && step(end) == step(begin) && row.breaks[end] == 0) ++end;
      const double left = row.points[begin].left;
      const double right = row.points[end - 1].right;
      const bool known = step(begin) < kHeatSteps;
      if (known || right - left >= kLeastHatch) {
        PlotPath& path = known ? paths[step(begin)] : unknown;
        path.move(left, y);
        path.line(right, y);
      }
      begin = end;
    }
  }

  [[nodiscard]] std::size_t rows() const {
    const std::size_t cores = panel_.tracks.size();
    const auto most = static_cast<std::size_t>(kMostHeatHeight / kLeastRowHeight);
    const std::size_t per_row = (cores + most - 1) / most;
    return (cores + per_row - 1) / per_row;
  }

  // Neighbours that share a row.
  [[nodiscard]] store::PlotTrack mean_of(std::size_t first, std::size_t last) const {
    if (first == last) return panel_.tracks[first];
    store::PlotTrack sum;
    const std::size_t buckets = panel_.tracks[first].mean.size();
    sum.mean.assign(buckets, store::kNotKnown);
    for (std::size_t i = 0; i < buckets; ++i) {
      double all = 0;
      double count = 0;
      for (std::size_t core = first; core <= last; ++core) {
        if (std::isnan(panel_.tracks[core].mean[i])) continue;
        all += panel_.tracks[core].mean[i];
        count += 1;
      }
      if (count > 0) sum.mean[i] = all / count;
    }
    return sum;
  }

  void label_row(std::size_t first, std::size_t last, std::size_t row, double y) {
    const double row_height = (bottom_ - top_) / static_cast<double>(rows());
    const auto every = static_cast<std::size_t>(std::ceil(13 / row_height));
    if (row % every != 0) return;
    const auto number = [this](std::size_t core) {
      const std::string& name = panel_.tracks[core].name;
      return one_line(name.substr(name.find_last_of(' ') + 1), kMostName);
    };
    std::string text = rows() <= kMostRowNames ? "core " : "";
    text += number(first);
    if (last > first) text += "–" + number(last);
    put("<text x='{:.0f}' y='{:.1f}' class='e'>{}</text>", place_.left - 8, y + 4,
        html_escaped(text));
  }

  const store::PlotData& data_;
  const store::PlotMetric& metric_;
  const store::PlotPanel& panel_;
  const TimeAxis& time_;
  const PanelPlace& place_;
  std::string& svg_;
  double top_, bottom_;
  double floor_ = 0;    // the value at bottom_
  std::size_t colour_;  // of the first track
};

}  // namespace

double panel_height(const store::PlotMetric& metric, const store::PlotPanel& panel) {
  if (!metric.heat) return kPanelTitle + kPlotHeight;
  const auto rows = static_cast<double>(panel.tracks.size());
  return kPanelTitle + std::clamp(rows * kMostRowHeight, kMostRowHeight, kMostHeatHeight);
}

double text_width(std::string_view text, double font_size) {
  constexpr double kOfFont = 0.55;
  return static_cast<double>(width(text)) * font_size * kOfFont;
}

double add_panel(const store::PlotData& data, const store::PlotMetric& metric,
                 const store::PlotPanel& panel, const TimeAxis& time, const PanelPlace& place,
                 std::string& svg) {
  return Panel(data, metric, panel, time, place, svg).add();
}

}  // namespace view
