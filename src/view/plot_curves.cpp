#include "view/plot_curves.hpp"

#include <algorithm>
#include <cmath>

namespace view {
namespace {

double value_at(const std::vector<double>& values, const std::vector<double>& mean,
                std::size_t i) noexcept {
  return values.empty() ? mean[i] : values[i];
}

}  // namespace

PlotPoints points_of(const store::PlotData& data, const store::PlotTrack& track,
                     const TimeAxis& axis, std::size_t most) {
  PlotPoints out;
  const std::size_t buckets = track.mean.size();
  const double width = axis.place(data.edges_s.back()) - axis.place(data.edges_s.front());
  const double column = width / static_cast<double>(std::max<std::size_t>(most, 1));
  double weight = 0;
  bool cut_before = false;
  for (std::size_t i = 0; i < buckets; ++i) {
    const double begin_s = data.edges_s[i];
    const double end_s = data.edges_s[i + 1];
    if (axis.is_cut((begin_s + end_s) / 2)) {
      cut_before = true;
      continue;
    }
    const double left = axis.place(begin_s);
    const double right = axis.place(end_s - (end_s - begin_s) * 1e-9);
    const bool joins =
        !out.points.empty() && !cut_before && right - out.points.back().left <= column;
    if (!joins) {
      PlotPoint fresh;
      fresh.left = left;
      fresh.right = right;
      out.points.push_back(fresh);
      out.breaks.push_back(cut_before ? 1 : 0);
      weight = 0;
    }
    cut_before = false;
    PlotPoint& point = out.points.back();
    point.right = right;
    if (std::isnan(track.mean[i])) continue;
    const double part = end_s - begin_s;
    point.min = std::fmin(point.min, value_at(track.min, track.mean, i));
    point.max = std::fmax(point.max, value_at(track.max, track.mean, i));
    point.mean =
        weight > 0 ? (point.mean * weight + track.mean[i] * part) / (weight + part) : track.mean[i];
    weight += part;
  }
  // A few buckets that hold two values (at the edges of cells) are no band.
  std::size_t apart = 0;
  for (const PlotPoint& point : out.points) apart += point.max > point.min ? 1 : 0;
  out.band = apart * 8 > out.points.size();
  return out;
}

std::optional<PlotFigures> figures_of(const store::PlotData& data, const store::PlotTrack& track) {
  std::optional<PlotFigures> figures;
  double weight = 0;
  for (std::size_t i = 0; i < track.mean.size(); ++i) {
    if (std::isnan(track.mean[i])) continue;
    const double min = value_at(track.min, track.mean, i);
    const double max = value_at(track.max, track.mean, i);
    const double part = data.edges_s[i + 1] - data.edges_s[i];
    if (!figures) figures = PlotFigures{min, 0, max, data.edges_s[i]};
    figures->min = std::min(figures->min, min);
    if (max > figures->max) {
      figures->max = max;
      figures->max_at_s = data.edges_s[i];
    }
    figures->mean += track.mean[i] * part;
    weight += part;
  }
  if (figures && weight > 0) figures->mean /= weight;
  return figures;
}

const store::PlotPanel* shown_panel(const store::PlotData& data, const store::PlotMetric& metric) {
  if (const store::PlotPanel* panel = metric.panel(data.level)) return panel;
  return metric.panel("node");
}

}  // namespace view
