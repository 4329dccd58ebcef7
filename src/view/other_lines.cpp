#include "view/other_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "view/escape.hpp"
#include "view/units.hpp"

namespace view {
namespace {

using store::CellSummary;
using store::LevelSummary;
using store::MetricSummary;

constexpr double kNsPerSecond = 1e9;
constexpr double kMilli = 1000;
constexpr std::size_t kMostName = 24;
constexpr std::size_t kMostCards = 4;
constexpr std::size_t kMostTop = 3;
constexpr std::size_t kMostOfMonitor = 4;
constexpr std::size_t kMostReason = 90;

// From where on it hurts. A cell that waits a tenth of its time is slower by a tenth.
constexpr double kMuchThrottled = 0.02;  // shares of the cell's time
constexpr double kMuchWaited = 0.1;
constexpr double kMuchSwap = 16 << 20;  // bytes
constexpr double kBusyShare = 0.1;      // of a core: a process that computes
constexpr double kFullPercent = 90;

const LevelSummary* level_of(const CellSummary& summary, std::string_view name) {
  const LevelSummary* level = summary.level(name);
  return level == nullptr || !level->why_absent.empty() ? nullptr : level;
}

const MetricSummary* metric(const LevelSummary* level, const std::string& name) {
  if (level == nullptr) return nullptr;
  const auto found = level->others.find(name);
  return found == level->others.end() ? nullptr : &found->second;
}

double gain(const LevelSummary* level, const std::string& name) {
  const MetricSummary* found = metric(level, name);
  return found == nullptr ? 0 : static_cast<double>(found->gain.value_or(0));
}

std::optional<double> highest(const LevelSummary* level, const std::string& name) {
  const MetricSummary* found = metric(level, name);
  return found == nullptr ? std::nullopt : found->values.max;
}

std::optional<double> mean(const LevelSummary* level, const std::string& name) {
  const MetricSummary* found = metric(level, name);
  return found == nullptr ? std::nullopt : found->values.mean;
}

bool is_of_card(const record::Device& device) {
  return device.kind == "NVML" || device.kind.starts_with("DRM");
}

// The node's card; of level `process` with what the cell's own processes hold.
SummaryLine card_line(const CellSummary& summary, const LevelSummary& level,
                      const record::Device& device) {
  const LevelSummary* node = level_of(summary, "node");
  const auto of_card = [&](std::string_view name) {
    return std::string(device.name).append(1, '.').append(name);
  };
  SummaryLine line{device.name, "", std::nullopt};
  std::vector<std::string> parts;
  const auto busy = mean(node, of_card("utilization_percent"));
  if (busy) {
    line.bar = *busy / 100;
    parts.push_back(percent_text(*busy));
    if (const auto most = highest(node, of_card("utilization_percent"))) {
      parts.back() += fmt::format(" (max {:.0f})", rounded_percent(*most));
    }
  } else {
    const auto why = summary.unknown.find("node." + of_card("utilization_percent"));
    const bool mig = why != summary.unknown.end() && why->second.find("MIG") != std::string::npos;
    parts.emplace_back(mig ? "use n/a (MIG)" : "use n/a");
  }
  const auto own =
      level.name == "process" ? highest(&level, of_card("memory_bytes")) : std::nullopt;
  const auto all = highest(node, of_card("memory_bytes"));
  if (own || all) {
    std::string text = "memory max " + bytes_text(own.value_or(all.value_or(0)));
    if (own && all) text += " (all: " + bytes_text(*all) + ")";
    if (record::is_known(device.memory_bytes)) {
      text += " of " + bytes_text(static_cast<double>(device.memory_bytes));
    }
    parts.push_back(std::move(text));
  }
  if (const auto power = mean(node, of_card("power_milliwatts"))) {
    parts.push_back(fmt::format("{:.0f} W", *power / kMilli));
  }
  if (!device.model.empty()) parts.push_back(one_line(device.model, kMostName));
  line.text = fmt::format("{}", fmt::join(parts, " · "));
  return line;
}

void add_cards(const CellSummary& summary, const LevelSummary& level,
               std::vector<SummaryLine>& lines) {
  if (level.name != "process" && level.name != "node") return;
  std::size_t cards = 0;
  for (const record::Device& device : summary.devices) {
    if (!is_of_card(device)) continue;
    if (++cards <= kMostCards) lines.push_back(card_line(summary, level, device));
  }
  if (cards > kMostCards) {
    lines.push_back({"GPUs", fmt::format("{} more", cards - kMostCards), std::nullopt});
  }
}

void add_top(const CellSummary& summary, const LevelSummary& level,
             std::vector<SummaryLine>& lines) {
  if (level.name != "process" || level.processes_max.value_or(0) < 2) return;
  std::vector<std::string> parts;
  for (const record::Consumer& one : summary.consumers) {
    if (parts.size() == kMostTop || one.cpu_time_ns <= 0) break;
    parts.push_back(fmt::format("{} ({}) {}", one_line(one.name, kMostName), one.pid,
                                seconds_text(static_cast<double>(one.cpu_time_ns) / kNsPerSecond)));
  }
  if (parts.size() < 2) return;
  lines.push_back({"top", fmt::format("{}", fmt::join(parts, ", ")), std::nullopt});
}

// "12.0 MiB", "-0.3", "7 °C" in a custom monitor's own unit.
std::string number_text(double value, const std::string& unit) {
  if (unit == "bytes" && value >= 0) return bytes_text(value);
  const std::string text = std::abs(value) < 1e6 && std::abs(value) >= 1e-3
                               ? fmt::format("{:.4g}", value)
                               : fmt::format("{:.3g}", value);
  return unit.empty() ? text : text + " " + one_line(unit, kMostName);
}

// A custom monitor: what each of its metrics was in the cell.
std::string monitor_text(const CellSummary& summary, const LevelSummary& level,
                         const std::string& device) {
  const std::string prefix = device + '.';
  std::vector<std::string> parts;
  std::size_t more = 0;
  for (auto one = level.others.lower_bound(prefix);
       one != level.others.end() && one->first.starts_with(prefix); ++one) {
    if (parts.size() == kMostOfMonitor) {
      ++more;
      continue;
    }
    const std::string full_name = level.name + '.' + one->first;
    const auto unit = summary.units.find(full_name);
    const std::string known_unit = unit == summary.units.end() ? "" : unit->second;
    const bool bound = summary.notes.contains(full_name);
    std::string text = one_line(one->first.substr(prefix.size()), kMostName) + ' ';
    if (one->second.real_gain) {
      text += (bound ? "≥ +" : "+") + number_text(*one->second.real_gain, known_unit);
    } else if (one->second.values.mean && one->second.values.max) {
      text += number_text(*one->second.values.mean, known_unit);
      if (*one->second.values.max != *one->second.values.mean) {
        text += " (max " + number_text(*one->second.values.max, "") + ")";
      }
    } else {
      const auto why = summary.unknown.find(full_name);
      text += why == summary.unknown.end() ? "n/a" : one_line(why->second, kMostReason);
    }
    parts.push_back(std::move(text));
  }
  if (more > 0) parts.push_back(fmt::format("{} more", more));
  return fmt::format("{}", fmt::join(parts, " · "));
}

void add_monitors(const CellSummary& summary, const LevelSummary& level,
                  std::vector<SummaryLine>& lines) {
  for (const record::Device& device : summary.devices) {
    if (device.kind != record::kMonitorKind) continue;
    std::string text = monitor_text(summary, level, device.name);
    // What is said of the node is of use where one looks at the kernel, too.
    const LevelSummary* node = level.name == "process" ? level_of(summary, "node") : nullptr;
    if (text.empty() && node != nullptr) text = monitor_text(summary, *node, device.name);
    if (!text.empty()) lines.push_back({device.name, std::move(text), std::nullopt});
  }
}

// The quota is the job's, so what it costs is said where the kernel is looked at, too.
void add_throttling(const CellSummary& summary, const LevelSummary& level,
                    std::vector<SummaryLine>& lines) {
  if (level.name != "process" && level.name != "job") return;
  const double throttled_s = gain(level_of(summary, "job"), "throttled_ns") / kNsPerSecond;
  if (throttled_s <= kMuchThrottled * summary.duration_s) return;
  lines.push_back(
      {"throttled",
       fmt::format("{} by the CPU quota (all threads together)", seconds_text(throttled_s)),
       std::nullopt});
}

void add_swap(const CellSummary& summary, const LevelSummary& level,
              std::vector<SummaryLine>& lines) {
  const auto held = highest(&level, "swap_bytes");
  const double in = gain(level_of(summary, "node"), "swap_in_bytes");
  const bool node = level.name == "node";
  if (held.value_or(0) < kMuchSwap || (node && in < kMuchSwap)) return;
  std::string text = "max " + bytes_text(*held);
  if (node) text += ", " + bytes_text(in) + " read back";
  lines.push_back({"swap", std::move(text), std::nullopt});
}

void add_pressure(const CellSummary& summary, const LevelSummary& level,
                  std::vector<SummaryLine>& lines) {
  // Who is in a job waits for the job's share, else for the node.
  const LevelSummary* source = &level;
  if (level.name == "process") {
    source = level_of(summary, "job");
    if (metric(source, "pressure_cpu_some_ns") == nullptr) source = level_of(summary, "node");
  }
  constexpr std::array<std::pair<const char*, const char*>, 3> kWaits{
      {{"pressure_cpu_some_ns", "for a core"},
       {"pressure_memory_some_ns", "for memory"},
       {"pressure_io_some_ns", "for I/O"}}};
  std::vector<std::string> parts;
  for (const auto& [name, what] : kWaits) {
    const double share = gain(source, name) / kNsPerSecond / std::max(summary.duration_s, 1e-9);
    if (share < kMuchWaited) continue;
    parts.push_back(fmt::format("{} {}", percent_text(std::min(share, 1.0) * 100), what));
  }
  if (parts.empty()) return;
  lines.push_back({"waits",
                   fmt::format("{} of the time ({})", fmt::join(parts, ", "),
                               source == &level || source->name == level.name
                                   ? "some task of this level"
                                   : "some task of the " + source->name),
                   std::nullopt});
}

void add_crowd(const CellSummary& summary, const LevelSummary& level,
               std::vector<SummaryLine>& lines) {
  if (level.name != "process" || !level.capacity_cores) return;
  if (level.cpu_percent.mean.value_or(0) < kFullPercent) return;
  const auto busy = std::ranges::count_if(summary.consumers, [&](const record::Consumer& one) {
    return static_cast<double>(one.cpu_time_ns) / kNsPerSecond > kBusyShare * summary.duration_s;
  });
  if (static_cast<double>(busy) <= *level.capacity_cores) return;
  const char* noun = *level.capacity_cores == 1 ? "core" : "cores";
  std::string text =
      fmt::format("{} busy processes on {:.3g} usable {}", busy, *level.capacity_cores, noun);
  lines.push_back({"note", std::move(text), std::nullopt, true});
}

}  // namespace

std::vector<SummaryLine> other_lines(const CellSummary& summary, const LevelSummary& level) {
  std::vector<SummaryLine> lines;
  add_cards(summary, level, lines);
  add_top(summary, level, lines);
  add_throttling(summary, level, lines);
  add_swap(summary, level, lines);
  add_pressure(summary, level, lines);
  add_monitors(summary, level, lines);
  add_crowd(summary, level, lines);
  return lines;
}

}  // namespace view
