#include "store/plot_plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "store/frame.hpp"

namespace store {
namespace {

using How = PlotColumn::How;

constexpr double kPercentOfNs = 100.0 / 1e9;  // of a counter of ns: per cent of the time
constexpr double kMilli = 1e-3;
constexpr std::size_t kMostTracks = 4096;  // a hostile schema may name a million
struct Described {
  std::string_view id, title, unit;
  How how;
  double scale;
  // A column's name behind its level; "*" stands for a number: then a curve is called by the
  // device. `track` is what the curve is called otherwise.
  std::string_view column, track;
};

// One after the other the metrics, each with its curves.
constexpr std::array kDescribed{
    Described{"cpu", "CPU", "%", How::kCpu, 100, "cpu_time_ns", "CPU"},
    Described{"cpu_cores", "CPU per core", "%", How::kCore, kPercentOfNs, "core*.cpu_time_ns",
              "core "},
    Described{"memory", "Memory", "B", How::kMemory, 1, "memory_bytes", "memory"},
    Described{"io", "I/O", "B/s", How::kRate, 1, "io_read_bytes", "read"},
    Described{"io", "", "", How::kRate, 1, "io_write_bytes", "written"},
    Described{"gpu", "GPU", "%", How::kGauge, 1, "gpu*.utilization_percent", "gpu"},
    Described{"gpu", "", "", How::kGauge, 1, "drm*.utilization_percent", "drm"},
    Described{"gpu_memory", "GPU memory", "B", How::kGauge, 1, "gpu*.memory_bytes", "gpu"},
    Described{"gpu_memory", "", "", How::kGauge, 1, "drm*.memory_bytes", "drm"},
    Described{"gpu_power", "GPU power", "W", How::kGauge, kMilli, "gpu*.power_milliwatts", "gpu"},
    Described{"gpu_power", "", "", How::kGauge, kMilli, "drm*.power_milliwatts", "drm"},
    Described{"gpu_temperature", "GPU temperature", "°C", How::kGauge, 1,
              "gpu*.temperature_celsius", "gpu"},
    Described{"gpu_temperature", "", "", How::kGauge, 1, "drm*.temperature_celsius", "drm"},
    Described{"storage", "Storage", "B/s", How::kRate, 1, "storage_read_bytes", "read"},
    Described{"storage", "", "", How::kRate, 1, "storage_write_bytes", "written"},
    Described{"network", "Network", "B/s", How::kRate, 1, "net_receive_bytes", "received"},
    Described{"network", "", "", How::kRate, 1, "net_transmit_bytes", "sent"},
    Described{"io_operations", "I/O operations", "1/s", How::kRate, 1, "io_read_ops", "read"},
    Described{"io_operations", "", "", How::kRate, 1, "io_write_ops", "written"},
    Described{"storage_operations", "Storage operations", "1/s", How::kRate, 1, "storage_read_ops",
              "read"},
    Described{"storage_operations", "", "", How::kRate, 1, "storage_write_ops", "written"},
    Described{"processes", "Processes", "", How::kGauge, 1, "processes", "processes"},
    Described{"threads", "Threads", "", How::kGauge, 1, "threads", "threads"},
    Described{"page_faults", "Page faults", "1/s", How::kRate, 1, "page_faults", "all"},
    Described{"page_faults", "", "", How::kRate, 1, "major_page_faults", "from a device"},
    Described{"switches", "Context switches", "1/s", How::kRate, 1, "context_switches", "switches"},
    Described{"pressure", "Pressure", "%", How::kRate, kPercentOfNs, "pressure_cpu_some_ns",
              "waits for a core"},
    Described{"pressure", "", "", How::kRate, kPercentOfNs, "pressure_memory_some_ns",
              "for memory"},
    Described{"pressure", "", "", How::kRate, kPercentOfNs, "pressure_io_some_ns", "for I/O"},
    Described{"throttled", "Throttled by the quota", "%", How::kRate, kPercentOfNs, "throttled_ns",
              "threads held back"},
    Described{"swap", "Swap", "B", How::kGauge, 1, "swap_bytes", "swapped out"},
    Described{"page_cache", "Page cache", "B", How::kGauge, 1, "memory_cache_bytes", "page cache"},
    Described{"load", "Load", "", How::kGauge, kMilli, "load_1min_milli", "1 min mean"},
};

constexpr std::array<std::string_view, 4> kLevels{"process", "user", "job", "node"};

// The number in the place of the "*", as text; "" where there is none in `pattern`. nullopt: the
// column is another one.
std::optional<std::string_view> match(std::string_view pattern, std::string_view column) noexcept {
  const std::size_t star = pattern.find('*');
  if (star == pattern.npos) {
    return pattern == column ? std::optional(std::string_view()) : std::nullopt;
  }
  const std::string_view before = pattern.substr(0, star);
  const std::string_view after = pattern.substr(star + 1);
  if (!column.starts_with(before) || !column.ends_with(after) ||
      column.size() <= before.size() + after.size()) {
    return std::nullopt;
  }
  column.remove_prefix(before.size());
  column.remove_suffix(after.size());
  // A slice of a card has a name of its own: "0_mig1".
  if (column.find('.') != column.npos || column.front() < '0' || column.front() > '9') {
    return std::nullopt;
  }
  return column;
}

// 2 before 10.
bool comes_before(std::string_view one, std::string_view other) noexcept {
  return one.size() != other.size() ? one.size() < other.size() : one < other;
}

class Planner {
 public:
  explicit Planner(const Recording& recording) {
    for (const auto& schema : recording.schemas()) {
      for (const record::Column& column : schema->columns) {
        if (!column.real)
          names_.insert(column.name);
        else if (real_.size() < kMostTracks)
          real_.emplace(column.name, column);
      }
    }
    for (const record::Machine& machine : recording.machines()) {
      usable_.insert(machine.affinity.begin(), machine.affinity.end());
    }
  }

  PlotPlan plan() {
    for (const Described& described : kDescribed) {
      for (const std::string_view level : kLevels) add(described, level);
    }
    for (const auto& [name, column] : real_) add_real(column);
    return std::move(plan_);
  }

 private:
  void add(const Described& described, std::string_view level) {
    const std::size_t star = described.column.find('*');
    std::vector<std::string_view> numbers;
    const std::string prefix =
        std::string(level).append(".").append(described.column.substr(0, star));
    for (auto name = names_.lower_bound(prefix); name != names_.end() && name->starts_with(prefix);
         ++name) {
      const auto number = match(described.column, std::string_view(*name).substr(level.size() + 1));
      if (number) numbers.push_back(*number);
    }
    std::ranges::sort(numbers, comes_before);
    for (const std::string_view number : numbers) {
      if (plan_.columns.size() >= kMostTracks) return;
      PlotColumn column;
      column.name = std::string(level).append(".").append(described.column);
      std::string track(described.track);
      if (star != described.column.npos) {
        column.name.replace(level.size() + 1 + star, 1, number);
        track += number;
      }
      column.level = level;
      put(described, column, level, track);
      // The kernel's own panel: the cores that it may use, when those aren't all.
      if (described.how == How::kCore && is_usable(number, numbers.size())) {
        put(described, column, "process", track);
      }
    }
  }

  // Of a custom monitor: each metric has a plot of its own.
  void add_real(const record::Column& column) {
    const std::size_t dot = column.name.find('.');
    const std::string_view level = std::string_view(column.name).substr(0, dot);
    if (dot == std::string::npos || std::ranges::find(kLevels, level) == kLevels.end()) return;
    if (plan_.columns.size() >= kMostTracks) return;
    const std::string id = column.name.substr(dot + 1);
    const bool counter = column.kind == record::Kind::kCounter;
    const std::string unit = column.unit == "bytes" ? "B" : column.unit;
    PlotColumn curve;
    curve.name = column.name;
    curve.level = level;
    curve.real = true;
    curve.how = counter ? How::kRate : How::kGauge;
    curve.scale = counter ? kRealStep : 1;
    curve.rule = kRealRateRule;
    auto metric = std::ranges::find(plan_.metrics, id, &PlotMetric::id);
    if (metric == plan_.metrics.end()) {
      PlotMetric fresh;
      fresh.id = fresh.title = id;
      fresh.unit = !counter ? unit : unit.empty() ? "1/s" : unit + "/s";
      metric = plan_.metrics.insert(metric, std::move(fresh));
    }
    PlotPanel panel;
    panel.level = level;
    panel.tracks.push_back({id.substr(id.find('.') + 1), {}, {}, {}});
    curve.metric = static_cast<std::size_t>(metric - plan_.metrics.begin());
    curve.panel = metric->panels.size();
    metric->panels.push_back(std::move(panel));
    plan_.columns.push_back(std::move(curve));
  }

  [[nodiscard]] bool is_usable(std::string_view number, std::size_t cores) const {
    if (usable_.empty() || usable_.size() >= cores) return false;
    return std::ranges::any_of(usable_,
                               [&](std::int64_t one) { return std::to_string(one) == number; });
  }

  void put(const Described& described, PlotColumn column, std::string_view level,
           std::string_view track) {
    column.how = described.how;
    column.scale = described.scale;
    column.rule = rate_rule(column.level, described.column);
    auto metric = std::ranges::find(plan_.metrics, described.id, &PlotMetric::id);
    if (metric == plan_.metrics.end()) {
      PlotMetric fresh;
      fresh.id = described.id;
      fresh.title = described.title;
      fresh.unit = described.unit;
      fresh.heat = described.how == How::kCore;
      metric = plan_.metrics.insert(metric, std::move(fresh));
    }
    const bool of_time = metric->unit == "%" && described.id != "throttled";
    if (of_time) column.most = 100;
    auto panel = std::ranges::find(metric->panels, level, &PlotPanel::level);
    if (panel == metric->panels.end()) {
      PlotPanel fresh;
      fresh.level = level;
      if (of_time) fresh.top = 100;
      panel = metric->panels.insert(panel, std::move(fresh));
    }
    column.metric = static_cast<std::size_t>(metric - plan_.metrics.begin());
    column.panel = static_cast<std::size_t>(panel - metric->panels.begin());
    column.track = panel->tracks.size();
    panel->tracks.push_back({std::string(track), {}, {}, {}});
    plan_.columns.push_back(std::move(column));
  }

  std::set<std::string, std::less<>> names_;
  std::map<std::string, record::Column, std::less<>> real_;
  std::set<std::int64_t> usable_;
  PlotPlan plan_;
};

}  // namespace

std::vector<std::string_view> plot_metric_ids() {
  std::vector<std::string_view> ids;
  for (const Described& one : kDescribed) {
    if (ids.empty() || ids.back() != one.id) ids.push_back(one.id);
  }
  return ids;
}

PlotPlan plot_plan(const Recording& recording) { return Planner(recording).plan(); }

}  // namespace store
