#pragma once
// What a custom monitor prints: one JSON object a line (docs/monitors.md). Foreign text: bounded,
// and every refusal is a sentence that says what is wrong with which line.
//
//   {"metrics": [{"name": "loss", "unit": "", "kind": "gauge", "level": "node"}]}
//   {"values": {"loss": 0.25}, "t_ns": 123456789}
//   {"end": "it exited with status 3"}     only from whoever runs the monitor, the last line

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "record/records.hpp"

namespace tools {

inline constexpr std::size_t kMostLineBytes = 64U << 10;
inline constexpr std::size_t kMostMonitorMetrics = 64;  // of one monitor
inline constexpr std::size_t kMostNameBytes = 64;
inline constexpr std::size_t kMostUnitBytes = 16;

struct MonitorMetric {
  std::string name;
  std::string unit;
  record::Kind kind = record::Kind::kGauge;
  std::string level = "node";

  bool operator==(const MonitorMetric&) const = default;
};

struct MonitorMetrics {
  std::vector<MonitorMetric> list;
};
struct MonitorValues {
  std::vector<std::pair<std::string, std::optional<double>>> list;  // nullopt: null
  std::optional<std::int64_t> time_ns;                              // CLOCK_MONOTONIC
};
struct MonitorEnd {
  std::string reason;
};
struct MonitorFault {
  std::string what;  // behind "it printed ": "a line that is no JSON object: hello"
};
using MonitorLine = std::variant<MonitorMetrics, MonitorValues, MonitorEnd, MonitorFault>;

// `line` without its end. Never throws but for want of memory.
MonitorLine parse_monitor_line(std::string_view line);

// A lower-case word with digits and '_', at most 32 bytes, that none of our own devices has; else
// a sentence that says so. "": it is good.
std::string fault_of_monitor_name(std::string_view name);

}  // namespace tools
