#include "store/plot_data.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "record/text.hpp"
#include "store/cell_span.hpp"
#include "store/plot_curves.hpp"
#include "store/plot_lines.hpp"
#include "store/plot_plan.hpp"
#include "store/plot_time.hpp"
#include "store/reasons.hpp"

namespace store {
namespace {

constexpr std::array<std::string_view, 4> kLevels{"process", "user", "job", "node"};
constexpr std::array<std::string_view, 6> kUsual{"cpu", "cpu_cores", "memory",
                                                 "io",  "gpu",       "gpu_memory"};
constexpr double kNsPerSecond = 1e9;
constexpr std::size_t kMostReasonBytes = 160;
constexpr std::size_t kMostCodeBytes = 400;

struct Chosen {
  const Cell* cell = nullptr;
  const std::string* source = nullptr;
  CellSpan span;
};

std::vector<Chosen> choose(const Recording& recording, const std::vector<Cell>& cells,
                           const std::vector<std::string>& sources, const PlotRequest& request) {
  constexpr std::size_t kFew = 32;
  std::vector<Chosen> chosen;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool wanted =
        request.cells.empty() ||
        std::ranges::find(request.cells, cells[i].begin.index) != request.cells.end();
    if (!wanted) continue;
    chosen.push_back({&cells[i], i < sources.size() ? &sources[i] : nullptr,
                      span_of(recording, cells[i], cells.size() > kFew)});
  }
  std::ranges::stable_sort(chosen, [](const Chosen& one, const Chosen& other) {
    return one.span.begin.time_ns < other.span.begin.time_ns;
  });
  return chosen;
}

std::string_view first_line(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  text.remove_prefix(begin);
  return text.substr(0, std::min(text.find_first_of("\r\n"), kMostCodeBytes));
}

// Times since the plot's begin.
class Clock {
 public:
  explicit Clock(std::int64_t begin_ns) noexcept : begin_ns_(begin_ns) {}
  [[nodiscard]] double seconds(std::int64_t time_ns) const noexcept {
    return (static_cast<double>(time_ns) - static_cast<double>(begin_ns_)) / kNsPerSecond;
  }

 private:
  std::int64_t begin_ns_;
};

PlotCell cell_of(const Chosen& chosen, const Clock& clock) {
  PlotCell cell;
  cell.index = chosen.cell->begin.index;
  if (chosen.cell->execution_count() >= 0) cell.execution_count = chosen.cell->execution_count();
  cell.begin_s = clock.seconds(chosen.span.begin.time_ns);
  if (!chosen.span.running) {
    cell.end_s = clock.seconds(chosen.span.end.time_ns);
    cell.outcome = record::outcome_word(chosen.span.outcome);
  }
  if (chosen.source != nullptr) cell.code = first_line(*chosen.source);
  return cell;
}

std::vector<PlotGap> gaps_of(const Recording& recording, const PlotTime& time, const Clock& clock) {
  std::vector<PlotGap> gaps;
  const std::int64_t begin_ns = time.shown_edges_ns().front();
  const std::int64_t end_ns = time.shown_edges_ns().back();
  for (const record::Gap& gap : recording.gaps()) {
    if (gap.begin_ns >= end_ns || gap.end_ns <= begin_ns) continue;
    std::string reason(record::gap_reason_text(gap.reason));
    if (!gap.text.empty()) reason += ": " + gap.text.substr(0, kMostReasonBytes);
    gaps.push_back({clock.seconds(std::max(gap.begin_ns, begin_ns)),
                    clock.seconds(std::min(gap.end_ns, end_ns)), std::move(reason)});
  }
  return gaps;
}

bool is_level(std::string_view name) { return std::ranges::find(kLevels, name) != kLevels.end(); }

void choose_level(PlotData& data, const PlotRequest& request) {
  for (const std::string_view level : kLevels) {
    const bool any = std::ranges::any_of(
        data.metrics, [&](const PlotMetric& metric) { return metric.panel(level) != nullptr; });
    if (any) data.levels.emplace_back(level);
  }
  if (!is_level(request.level)) {
    throw std::invalid_argument("level '" + request.level +
                                "' is not one of process, user, job, node");
  }
  data.level = request.level;
  const bool is_there = std::ranges::find(data.levels, data.level) != data.levels.end();
  if (!is_there && !data.levels.empty()) data.level = data.levels.front();
}

void choose_metrics(PlotData& data, const PlotRequest& request, const Reasons& reasons) {
  for (const std::string_view id : kUsual) {
    if (!request.metrics.empty()) break;
    const PlotMetric* metric = data.metric(id);
    // A single core says what the whole says.
    if (metric == nullptr || (metric->heat && metric->panels.front().tracks.size() < 2)) continue;
    data.shown.emplace_back(id);
  }
  const std::vector<std::string_view> known = plot_metric_ids();
  for (const std::string& id : request.metrics) {
    const bool of_monitor = id.find('.') != std::string::npos;
    if (!of_monitor && std::ranges::find(known, id) == known.end()) {
      throw std::invalid_argument("there is no metric '" + id + "'");
    }
    if (data.metric(id) == nullptr && request.window) continue;
    if (data.metric(id) == nullptr) {
      const std::string_view family = std::string_view(id).substr(0, id.find('_'));
      const auto why = reasons.recorded(data.level, family == "network" ? "net" : family);
      if (of_monitor) {
        throw std::invalid_argument("there is no metric '" + id +
                                    "' here: no custom monitor has told it");
      }
      throw std::invalid_argument("metric '" + id + "' has no value here" +
                                  (why ? ": " + *why : ""));
    }
    if (std::ranges::find(data.shown, id) == data.shown.end()) data.shown.push_back(id);
  }
}

}  // namespace

const PlotPanel* PlotMetric::panel(std::string_view level) const noexcept {
  const auto found = std::ranges::find(panels, level, &PlotPanel::level);
  return found == panels.end() ? nullptr : &*found;
}

const PlotMetric* PlotData::metric(std::string_view id) const noexcept {
  const auto found = std::ranges::find(metrics, id, &PlotMetric::id);
  return found == metrics.end() ? nullptr : &*found;
}

PlotData plot_data(const Recording& recording, const std::vector<Cell>& cells,
                   const std::vector<std::string>& sources, const PlotRequest& request) {
  PlotData data;
  data.group = request.group;
  if (const auto& machine = recording.machine()) {
    data.label = machine->label;
    data.host = machine->host;
  }
  const std::vector<Chosen> chosen = choose(recording, cells, sources, request);
  std::vector<CellSpan> spans;
  spans.reserve(chosen.size());
  for (const Chosen& one : chosen) spans.push_back(one.span);
  const PlotTime time =
      plot_time(recording, spans, request.most_buckets, request.cut_between_cells, request.window);
  data.cut = time.cut;
  if (!time.edges_ns.empty()) {
    const Clock clock(time.begin_ns);
    data.begin_wall_s = static_cast<double>(recording.wall_ns(time.begin_ns)) / kNsPerSecond;
    data.edges_s.reserve(time.edges_ns.size());
    for (const std::int64_t edge_ns : time.shown_edges_ns()) {
      data.edges_s.push_back(clock.seconds(edge_ns));
    }
    for (const Chosen& one : chosen) data.cells.push_back(cell_of(one, clock));
    data.gaps = gaps_of(recording, time, clock);
    PlotPlan plan = plot_plan(recording);
    fill_plot(recording, time, plan);
    data.metrics = std::move(plan.metrics);
    add_plot_lines(recording, time.end_ns, data.metrics);
  }
  choose_level(data, request);
  choose_metrics(data, request, Reasons(recording, 0, time.end_ns));
  return data;
}

}  // namespace store
