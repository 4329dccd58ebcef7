#include "store/plot_lines.hpp"

#include <fmt/format.h>

#include <map>

#include "record/value.hpp"

namespace store {
namespace {

constexpr double kMillicores = 1000;

// The values of the newest row up to a time, by column.
std::map<std::string, record::Value, std::less<>> values_at(const Recording& recording,
                                                            std::int64_t time_ns) {
  std::map<std::string, record::Value, std::less<>> values;
  const std::int64_t last_ns = recording.sample_at_or_before(time_ns);
  if (last_ns == 0) return values;
  recording.visit_rows(last_ns, last_ns,
                       [&](const auto& schema, const record::Rows& rows, std::size_t row) {
                         for (std::size_t i = 0; i < rows.columns; ++i) {
                           if (schema->columns[i].name.find("capacity") != std::string::npos) {
                             values[schema->columns[i].name] = rows.at(i, row);
                           }
                         }
                         return true;
                       });
  return values;
}

class Lines {
 public:
  Lines(const Recording& recording, std::int64_t time_ns)
      : recording_(recording), values_(values_at(recording, time_ns)) {}

  void add(const std::string& metric, PlotPanel& panel) const {
    if (metric == "cpu") {
      panel.lines.push_back({"capacity", 100});
      const double cores = cores_of(panel.level);
      if (cores > 0) panel.note = fmt::format("of {:.4g} core{}", cores, cores == 1 ? "" : "s");
    } else if (metric == "memory") {
      add_memory(panel);
    } else if (metric == "swap") {
      if (const auto most = value(panel.level + ".capacity_swap_bytes")) {
        panel.lines.push_back({"capacity", *most});
      }
    } else if (metric == "gpu_memory") {
      add_cards(panel);
    }
  }

 private:
  [[nodiscard]] std::optional<double> value(const std::string& column) const {
    const auto found = values_.find(column);
    if (found == values_.end() || found->second <= 0) return std::nullopt;
    return static_cast<double>(found->second);
  }

  [[nodiscard]] double cores_of(const std::string& level) const {
    if (const auto millicores = value(level + ".capacity_millicores")) {
      return *millicores / kMillicores;
    }
    const auto& machine = recording_.machine();
    return machine ? static_cast<double>(machine->cores_online) : 0;
  }

  void add_memory(PlotPanel& panel) const {
    const auto& machine = recording_.machine();
    const double node = machine ? static_cast<double>(machine->memory_bytes) : 0;
    const double most = value(panel.level + ".capacity_memory_bytes").value_or(node);
    if (most > 0) panel.lines.push_back({node > 0 && most < node ? "limit" : "capacity", most});
  }

  // One line where all cards have as much.
  void add_cards(PlotPanel& panel) const {
    std::optional<double> most;
    for (const PlotTrack& track : panel.tracks) {
      for (const record::Device& device : recording_.devices()) {
        if (device.name != track.name || !record::is_known(device.memory_bytes)) continue;
        const auto bytes = static_cast<double>(device.memory_bytes);
        if (most && *most != bytes) return;
        most = bytes;
      }
    }
    if (most) panel.lines.push_back({"capacity", *most});
  }

  const Recording& recording_;
  std::map<std::string, record::Value, std::less<>> values_;
};

}  // namespace

void add_plot_lines(const Recording& recording, std::int64_t end_ns,
                    std::vector<PlotMetric>& metrics) {
  const Lines lines(recording, end_ns);
  for (PlotMetric& metric : metrics) {
    for (PlotPanel& panel : metric.panels) lines.add(metric.id, panel);
  }
}

}  // namespace store
