#include "view/live.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "record/text.hpp"
#include "store/curve.hpp"
#include "view/escape.hpp"
#include "view/sparkline.hpp"
#include "view/units.hpp"

namespace view {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kMostCellNs = 120 * kSecondNs;
constexpr std::int64_t kIdleNs = 60 * kSecondNs;
constexpr std::size_t kLabelColumns = 10;
constexpr std::size_t kFigureColumns = 51;  // beside a curve
constexpr std::size_t kLeastBuckets = 10;
constexpr std::size_t kMostBuckets = 60;
constexpr std::size_t kMostCodeLines = 5;
constexpr std::size_t kMostLineBytes = 4000;
constexpr std::size_t kMostGpus = 8;
constexpr double kNsPerSecond = 1e9;
constexpr double kMillicores = 1000;

struct Curve {
  std::vector<double> values;
  std::optional<double> now, max;
};

class Curves {
 public:
  Curves(const store::Recording& recording, std::int64_t begin_ns, std::int64_t end_ns,
         std::size_t columns)
      : recording_(recording),
        begin_ns_(begin_ns),
        end_ns_(end_ns),
        columns_(columns),
        buckets_(std::clamp(columns > kFigureColumns ? columns - kFigureColumns : 0, kLeastBuckets,
                            kMostBuckets)) {}

  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    const Curve cores = of("process.capacity_millicores", 1 / kMillicores);
    cpu(cores.now, lines);
    memory("memory", "process", lines);
    rate("read", "process.io_read_bytes", lines);
    rate("written", "process.io_write_bytes", lines);
    if (of("job.capacity_memory_bytes", 1).now.value_or(0) > 0) memory("job memory", "job", lines);
    std::size_t gpus = 0;
    for (const record::Device& device : recording_.devices()) {
      if (gpus == kMostGpus) break;
      gpus += gpu(device, lines) ? 1 : 0;
    }
    return lines;
  }

 private:
  [[nodiscard]] Curve of(std::string_view column, double scale) const {
    Curve curve{store::curve_of(recording_, column, begin_ns_, end_ns_, buckets_), {}, {}};
    for (double& value : curve.values) {
      value *= scale;
      if (std::isnan(value)) continue;
      curve.now = value;
      curve.max = std::max(value, curve.max.value_or(value));
    }
    return curve;
  }

  void add(std::string_view label, const Curve& curve, double top, const std::string& figures,
           std::vector<std::string>& lines) const {
    lines.push_back(one_line(padded(one_line(label, kLabelColumns), kLabelColumns) + ' ' +
                                 sparkline(curve.values, 0, top) + "  " + figures,
                             columns_));
  }

  void cpu(std::optional<double> cores, std::vector<std::string>& lines) const {
    constexpr double kPercent = 100;
    const double scale = kPercent / kNsPerSecond / cores.value_or(1);
    const Curve curve = of("process.cpu_time_ns", scale);
    std::string figures = "unknown";
    if (curve.now) {
      figures = percent_text(*curve.now);
      if (cores) figures += " of " + cores_text(*cores);
      figures += " · max " + percent_text(*curve.max);
    }
    add("CPU", curve, kPercent, figures, lines);
  }

  void memory(std::string_view label, std::string_view level,
              std::vector<std::string>& lines) const {
    const Curve curve = of(fmt::format("{}.memory_bytes", level), 1);
    const auto capacity = of(fmt::format("{}.capacity_memory_bytes", level), 1).now;
    std::string figures = "unknown";
    if (curve.now) {
      figures = bytes_text(*curve.now) + " · max " + bytes_text(*curve.max);
      if (capacity.value_or(0) > 0) figures += " of " + bytes_text(*capacity);
    }
    add(label, curve, curve.max.value_or(0), figures, lines);
  }

  void rate(std::string_view label, std::string_view column,
            std::vector<std::string>& lines) const {
    const Curve curve = of(column, 1);
    const std::string figures =
        curve.now ? fmt::format("{}/s · max {}/s", bytes_text(*curve.now), bytes_text(*curve.max))
                  : "unknown";
    add(label, curve, curve.max.value_or(0), figures, lines);
  }

  bool gpu(const record::Device& device, std::vector<std::string>& lines) const {
    const Curve busy = of(fmt::format("node.{}.utilization_percent", device.name), 1);
    const Curve memory = of(fmt::format("node.{}.memory_bytes", device.name), 1);
    if (!busy.now && !memory.now) return false;
    std::vector<std::string> figures;
    if (busy.now) {
      figures.push_back(percent_text(*busy.now) + " · max " + percent_text(*busy.max));
    }
    if (memory.now) {
      std::string text = bytes_text(*memory.now);
      if (record::is_known(device.memory_bytes) && device.memory_bytes > 0) {
        text += " of " + bytes_text(static_cast<double>(device.memory_bytes));
      }
      figures.push_back(std::move(text));
    }
    constexpr double kPercent = 100;
    const bool has_busy = busy.now.has_value();
    add(device.name, has_busy ? busy : memory, has_busy ? kPercent : memory.max.value_or(0),
        fmt::format("{}", fmt::join(figures, " · ")), lines);
    return true;
  }

  const store::Recording& recording_;
  std::int64_t begin_ns_;
  std::int64_t end_ns_;
  std::size_t columns_;
  std::size_t buckets_;
};

std::string seconds_between(std::int64_t begin_ns, std::int64_t end_ns) {
  const double seconds = (static_cast<double>(end_ns) - static_cast<double>(begin_ns)) / 1e9;
  return seconds_text(seconds);
}

std::string title(const store::Recording& recording) {
  std::vector<std::string> parts;
  constexpr std::size_t kMostName = 60;
  if (recording.machine()) {
    for (const std::string& name : {recording.machine()->label, recording.machine()->host}) {
      if (!name.empty()) parts.push_back(one_line(name, kMostName));
    }
  }
  const std::size_t cells = recording.cells().size();
  parts.push_back(fmt::format("{} {}", cells, cells == 1 ? "cell" : "cells"));
  return fmt::format("{}", fmt::join(parts, " · "));
}

void add_code(std::string_view code, std::size_t columns, std::vector<std::string>& lines) {
  constexpr std::string_view kIndent = "  ";
  std::size_t shown = 0;
  while (!code.empty()) {
    const std::size_t end = code.find('\n');
    const std::string_view line = code.substr(0, end);
    code.remove_prefix(end == code.npos ? code.size() : end + 1);
    if (shown == 0 && first_line(line).empty()) continue;  // blank lines at the top
    if (shown++ == kMostCodeLines) {
      lines.emplace_back("  …");
      return;
    }
    lines.push_back(one_line(std::string(kIndent).append(line.substr(0, kMostLineBytes)), columns));
  }
}

}  // namespace

const store::Cell* running_cell(const store::Recording& recording) noexcept {
  const auto& cells = recording.cells();
  const auto found = std::find_if(cells.rbegin(), cells.rend(),
                                  [](const store::Cell& cell) { return !cell.end.has_value(); });
  return found == cells.rend() ? nullptr : &*found;
}

std::string cell_name(const store::Cell& cell) {
  return cell.execution_count() >= 0 ? fmt::format("In [{}]", cell.execution_count())
                                     : fmt::format("#{}", cell.begin.index);
}

std::vector<std::string> live_lines(const store::Recording& recording, std::int64_t now_ns,
                                    std::size_t columns) {
  std::vector<std::string> lines{one_line(title(recording), columns)};
  const store::Cell* shown = running_cell(recording);
  if (shown == nullptr && !recording.cells().empty()) shown = &recording.cells().back();
  std::int64_t begin_ns = std::max<std::int64_t>(now_ns, kIdleNs) - kIdleNs;
  if (shown == nullptr) {
    lines.emplace_back("idle: no cell has run yet");
  } else if (shown->end) {
    const std::string text = fmt::format("idle: the last cell was {} · {} · {}", cell_name(*shown),
                                         seconds_between(shown->begin.time_ns, shown->end->time_ns),
                                         record::outcome_word(shown->end->outcome));
    lines.push_back(one_line(text, columns));
  } else {
    const std::string text = fmt::format("{} · running for {}", cell_name(*shown),
                                         seconds_between(shown->begin.time_ns, now_ns));
    lines.push_back(one_line(text, columns));
    begin_ns = std::max(shown->begin.time_ns, std::max(now_ns, kMostCellNs) - kMostCellNs);
  }
  if (shown != nullptr) {
    add_code(recording.source(*shown), columns, lines);
  }
  for (std::string& line : Curves(recording, begin_ns, now_ns, columns).lines()) {
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace view
