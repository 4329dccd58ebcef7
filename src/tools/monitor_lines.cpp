#include "tools/monitor_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "record/text.hpp"

namespace tools {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostShown = 60;
constexpr std::size_t kMostReason = 300;
constexpr std::size_t kMostMonitorName = 32;
constexpr std::array<std::string_view, 4> kLevels{"process", "user", "job", "node"};
constexpr std::array<std::string_view, 5> kTaken{"core", "gpu", "drm", "file_system", "root_"};

bool is_lower(char one) noexcept { return one >= 'a' && one <= 'z'; }
bool is_digit(char one) noexcept { return one >= '0' && one <= '9'; }
bool is_letter(char one) noexcept { return is_lower(one) || (one >= 'A' && one <= 'Z'); }

// Without colours and whatever else steers terminals (ECMA-48: ESC [, parameters, a final byte).
std::string without_sequences(std::string_view text) {
  constexpr char kEscape = '\x1b';
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != kEscape) {
      plain += text[i];
      continue;
    }
    ++i;  // with what follows it
    if (i >= text.size() || text[i] != '[') continue;
    for (++i; i < text.size() && (text[i] < '@' || text[i] > '~');) ++i;
  }
  return plain;
}

std::string shown(std::string_view text) { return record::escaped(text, kMostShown); }

MonitorFault fault(std::string what) { return {std::move(what)}; }

bool is_metric_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kMostNameBytes &&
         (is_letter(name.front()) || name.front() == '_') &&
         std::ranges::all_of(
             name, [](char one) { return is_letter(one) || is_digit(one) || one == '_'; });
}

// The text at `key`, or `otherwise` where there is none; nullptr: something else is there.
const std::string* text_at(const Json& object, const char* key, const std::string& otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return &otherwise;
  return found->is_string() ? &found->get_ref<const std::string&>() : nullptr;
}

MonitorLine read_metrics(const Json& list) {
  static const std::string kNone;
  static const std::string kNode = "node";
  static const std::string kGauge = "gauge";
  if (!list.is_array() || list.empty()) return fault("metrics that are no list of objects");
  if (list.size() > kMostMonitorMetrics) {
    return fault(fmt::format("{} metrics: {} are the most", list.size(), kMostMonitorMetrics));
  }
  MonitorMetrics metrics;
  for (const Json& one : list) {
    if (!one.is_object()) return fault("a metric that is no object: " + shown(one.dump()));
    const std::string* name = text_at(one, "name", kNone);
    const std::string* unit = text_at(one, "unit", kNone);
    const std::string* kind = text_at(one, "kind", kGauge);
    const std::string* level = text_at(one, "level", kNode);
    if (name == nullptr || !is_metric_name(*name)) {
      return fault(
          fmt::format("a metric whose name isn't made of letters, digits and _, {} at "
                      "most: {}",
                      kMostNameBytes, name == nullptr ? "no text" : shown(*name)));
    }
    const auto wrong = [&](std::string_view what) {
      return fault(fmt::format("metric {} with {}", *name, what));
    };
    if (unit == nullptr || unit->size() > kMostUnitBytes ||
        record::escaped(*unit, kMostUnitBytes) != *unit) {
      return wrong(fmt::format("a unit that is no text of {} bytes at most", kMostUnitBytes));
    }
    if (kind == nullptr || (*kind != "counter" && *kind != "gauge")) {
      return wrong("another kind than counter or gauge");
    }
    if (level == nullptr || std::ranges::find(kLevels, *level) == kLevels.end()) {
      return wrong("another level than process, user, job or node");
    }
    if (std::ranges::find(metrics.list, *name, &MonitorMetric::name) != metrics.list.end()) {
      return fault("metric " + *name + " twice");
    }
    metrics.list.push_back(
        {*name, *unit, *kind == "counter" ? record::Kind::kCounter : record::Kind::kGauge, *level});
  }
  return metrics;
}

MonitorLine read_values(const Json& object, const Json& values) {
  if (!values.is_object()) return fault("values that are no object of names and numbers");
  MonitorValues read;
  for (const auto& [name, value] : values.items()) {
    if (!value.is_number() && !value.is_null()) {
      return fault(fmt::format("a value of {} that is no number: {}", shown(name),
                               shown(value.dump(-1, ' ', true, Json::error_handler_t::replace))));
    }
    std::optional<double> number;
    if (value.is_number()) number = value.get<double>();
    if (number && !std::isfinite(*number)) {
      return fault(
          fmt::format("a value of {} that isn't finite: null is what isn't known", shown(name)));
    }
    read.list.emplace_back(name, number);
  }
  const auto time = object.find("t_ns");
  if (time != object.end()) {
    if (!time->is_number_integer() || *time < 0 ||
        *time > std::numeric_limits<std::int64_t>::max()) {
      return fault("a t_ns that is no time in nanoseconds");
    }
    read.time_ns = time->get<std::int64_t>();
  }
  return read;
}

}  // namespace

MonitorLine parse_monitor_line(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return fault("a line that is no JSON object: " + shown(line));
  if (const auto metrics = object.find("metrics"); metrics != object.end()) {
    return read_metrics(*metrics);
  }
  if (const auto values = object.find("values"); values != object.end()) {
    return read_values(object, *values);
  }
  if (const auto end = object.find("end"); end != object.end() && end->is_string()) {
    return MonitorEnd{
        record::escaped(without_sequences(end->get_ref<const std::string&>()), kMostReason)};
  }
  return fault("an object without metrics or values: " + shown(line));
}

std::string fault_of_monitor_name(std::string_view name) {
  const bool good = !name.empty() && name.size() <= kMostMonitorName && is_lower(name.front()) &&
                    std::ranges::all_of(name, [](char one) {
                      return is_lower(one) || is_digit(one) || one == '_';
                    });
  if (!good) {
    return fmt::format(
        "a monitor's name is a lower-case letter, then letters, digits and _, {} "
        "at most",
        kMostMonitorName);
  }
  for (const std::string_view taken : kTaken) {
    if (name.starts_with(taken)) {
      return fmt::format("names that begin with {} are those of our own devices", taken);
    }
  }
  return {};
}

}  // namespace tools
