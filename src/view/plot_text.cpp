// The plot where there is nothing but text: a line for each curve.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "view/escape.hpp"
#include "view/plot.hpp"
#include "view/plot_curves.hpp"
#include "view/plot_words.hpp"
#include "view/sparkline.hpp"
#include "view/units.hpp"

namespace view {
namespace {

constexpr std::size_t kColumns = 48;
constexpr std::size_t kMostTracks = 8;  // of one metric
constexpr std::size_t kMostName = 24;

struct Line {
  std::string name, curve, figures;
};

// The highest value of each column.
std::vector<double> columns_of(const store::PlotData& data, const store::PlotTrack& track,
                               const TimeAxis& axis) {
  std::vector<double> highest(kColumns, store::kNotKnown);
  const std::vector<double>& values = track.max.empty() ? track.mean : track.max;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (axis.is_cut((data.edges_s[i] + data.edges_s[i + 1]) / 2)) continue;
    const auto first = static_cast<std::size_t>(axis.place(data.edges_s[i]));
    const double end = axis.place(data.edges_s[i + 1]);
    for (std::size_t column = first; column < kColumns; ++column) {
      if (column > first && static_cast<double>(column) >= end) break;
      highest[column] = std::fmax(highest[column], values[i]);
    }
  }
  return highest;
}

void add_lines(const store::PlotData& data, const store::PlotMetric& metric,
               const store::PlotPanel& panel, std::vector<Line>& lines) {
  const TimeAxis axis(data, 0, kColumns);
  double top = 0;
  for (const store::PlotTrack& track : panel.tracks) {
    if (const auto figures = figures_of(data, track)) top = std::max(top, figures->max);
  }
  // As in the picture.
  if (metric.unit == "%") top = ValueAxis(top, panel.top.value_or(0), metric.unit).top();
  const std::size_t count = std::min(panel.tracks.size(), kMostTracks);
  for (std::size_t i = 0; i < count; ++i) {
    const store::PlotTrack& track = panel.tracks[i];
    const auto figures = figures_of(data, track);
    if (!figures) continue;
    std::string name = metric.heat ? "" : metric.title;
    if (panel.tracks.size() > 1) {
      if (!name.empty()) name += ' ';
      name += one_line(track.name, kMostName);
    }
    lines.push_back({std::move(name), sparkline(columns_of(data, track, axis), 0, top),
                     fmt::format("{} to {}, mean {}", value_text(figures->min, metric.unit),
                                 value_text(figures->max, metric.unit),
                                 value_text(figures->mean, metric.unit))});
    if (i == 0) {
      const std::string note = panel_note(data, metric, panel);
      if (!note.empty()) lines.back().figures += " (" + note + ")";
    }
  }
  if (panel.tracks.size() > count) {
    lines.push_back({metric.title, fmt::format("{} more", panel.tracks.size() - count), ""});
  }
}

}  // namespace

std::string plot_text(const store::PlotData& data) {
  if (data.edges_s.size() < 2 || data.shown.empty()) return "nothing has been measured yet";
  std::vector<Line> lines;
  for (const std::string& id : data.shown) {
    const store::PlotMetric* metric = data.metric(id);
    const store::PlotPanel* panel = metric == nullptr ? nullptr : shown_panel(data, *metric);
    if (panel != nullptr) add_lines(data, *metric, *panel, lines);
  }
  std::size_t names = 0;
  for (const Line& line : lines) names = std::max(names, width(line.name));
  std::string text = plot_title(data) + " · " + plot_scope(data);
  for (const Line& line : lines) {
    text += '\n' + padded(line.name, names + 2) + padded(line.curve, kColumns + 2) + line.figures;
    text.erase(text.find_last_not_of(' ') + 1);
  }
  return text;
}

}  // namespace view
