#include "view/plot_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clock.hpp"
#include "view/escape.hpp"
#include "view/plot.hpp"
#include "view/plot_curves.hpp"
#include "view/units.hpp"

namespace view {
namespace {

constexpr std::size_t kMostLabel = 60;
constexpr std::size_t kMostHost = 40;
constexpr std::size_t kMostSaid = 8;  // cells, gaps and tracks that are described one by one

std::string_view scope_of(std::string_view level) noexcept {
  if (level == "process") return "the kernel's processes";
  if (level == "user") return "all processes of the user";
  return level == "job" ? "the job" : "the whole node";
}

std::string cells_text(const store::PlotData& data) {
  const auto& cells = data.cells;
  if (cells.empty()) return "";
  if (cells.size() == 1) return plot_label(cells.front());
  if (cells.size() == 2) {
    return plot_label(cells.front()) + " and " + plot_label(cells.back());
  }
  return fmt::format("{} to {}, {} cells", plot_label(cells.front()), plot_label(cells.back()),
                     cells.size());
}

double shown_seconds(const store::PlotData& data) {
  if (data.edges_s.empty()) return 0;
  if (!data.cut) return data.edges_s.back() - data.edges_s.front();
  double sum = 0;
  for (const store::PlotCell& cell : data.cells) {
    sum += cell.end_s.value_or(data.edges_s.back()) - cell.begin_s;
  }
  return sum;
}

// The name, where one is needed to tell the tracks apart.
std::string named(const store::PlotPanel& panel, const store::PlotTrack& track) {
  return panel.tracks.size() > 1 ? one_line(track.name, kMostLabel) + " " : "";
}

std::string metric_sentence(const store::PlotData& data, const store::PlotMetric& metric) {
  const store::PlotPanel* panel = shown_panel(data, metric);
  if (panel == nullptr) return "";
  std::string text = metric.title;
  const std::string note = panel_note(data, metric, *panel);
  if (!note.empty()) text += " (" + note + ")";
  text += ": ";
  if (metric.heat) {
    return text + fmt::format("a row of colour for each of {}. ", panel->tracks.size());
  }
  std::vector<std::string> parts;
  for (const store::PlotTrack& track : panel->tracks) {
    const auto figures = figures_of(data, track);
    if (!figures || parts.size() == kMostSaid) continue;
    parts.push_back(
        fmt::format("{}mean {}, lowest {}, highest {} after {}", named(*panel, track),
                    value_text(figures->mean, metric.unit), value_text(figures->min, metric.unit),
                    value_text(figures->max, metric.unit), seconds_text(figures->max_at_s)));
  }
  return text + fmt::format("{}. ", fmt::join(parts, "; "));
}

}  // namespace

std::string plot_title(const store::PlotData& data) {
  std::string text = one_line(data.label, kMostLabel);
  const std::string group = one_line(data.group, kMostLabel);
  if (!group.empty()) text += (text.empty() ? "" : " · ") + group;
  const std::string cells = cells_text(data);
  if (!cells.empty()) text += (text.empty() ? "" : " · ") + cells;
  const double seconds = shown_seconds(data);
  return text + (text.empty() ? "" : " · ") + seconds_text(seconds);
}

std::string plot_scope(const store::PlotData& data) {
  std::string text(scope_of(data.level));
  if (!data.host.empty()) text += " · " + one_line(data.host, kMostHost);
  const auto wall_ns = static_cast<std::int64_t>(std::llround(data.begin_wall_s * 1e6)) * 1000;
  return text + " · " + base::local_time(wall_ns);
}

std::string panel_note(const store::PlotData& data, const store::PlotMetric& metric,
                       const store::PlotPanel& panel) {
  std::vector<std::string> parts;
  if (!panel.note.empty()) parts.push_back(one_line(panel.note, kMostLabel));
  if (metric.unit == "B" && !panel.lines.empty()) {
    parts.push_back("of " + bytes_text(panel.lines.front().value));
  }
  if (panel.level != data.level) parts.emplace_back("of the whole " + panel.level);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string track_figures(const store::PlotData& data, const store::PlotMetric& metric,
                          const store::PlotTrack& track) {
  const auto figures = figures_of(data, track);
  if (!figures) return "";
  const std::string peak = value_text(figures->max, metric.unit);
  return fmt::format("mean {} · peak {}", value_text(figures->mean, metric.unit), peak);
}

std::size_t plot_colour(std::string_view metric_id) noexcept {
  constexpr std::size_t kGreen = 2;
  constexpr std::size_t kRed = 3;
  constexpr std::size_t kViolet = 4;
  if (metric_id.find("memory") != metric_id.npos || metric_id.starts_with("swap") ||
      metric_id.starts_with("page")) {
    return kGreen;
  }
  if (metric_id.starts_with("io") || metric_id.starts_with("storage")) return kRed;
  return metric_id.starts_with("network") ? kViolet : 0;
}

std::string plot_description(const store::PlotData& data) {
  std::string text = fmt::format("Curves over time of {}. ", scope_of(data.level));
  for (const std::string& id : data.shown) {
    if (const store::PlotMetric* metric = data.metric(id)) text += metric_sentence(data, *metric);
  }
  if (data.cells.size() <= kMostSaid) {
    for (const store::PlotCell& cell : data.cells) {
      text += fmt::format("{} from {}", plot_label(cell), seconds_text(cell.begin_s));
      if (cell.end_s) {
        text += fmt::format(" to {}, {}. ", seconds_text(*cell.end_s), cell.outcome);
      } else {
        text += ", still running. ";
      }
    }
  }
  for (std::size_t i = 0; i < std::min(data.gaps.size(), kMostSaid); ++i) {
    text += fmt::format("No samples from {} to {}: {}. ", seconds_text(data.gaps[i].begin_s),
                        seconds_text(data.gaps[i].end_s), one_line(data.gaps[i].reason, 120));
  }
  if (data.cut) text += "The time between cells is left out. ";
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace view
