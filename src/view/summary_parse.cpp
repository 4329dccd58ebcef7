#include "view/summary_parse.hpp"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.hpp"
#include "record/text.hpp"

namespace view {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr double kMostSeconds = 1e12;
constexpr std::array<std::string_view, 4> kLevels{"process", "user", "job", "node"};

const Json& at(const Json& json, std::string_view key) {
  static const Json kNone;
  if (!json.is_object()) return kNone;
  const auto found = json.find(key);
  return found == json.end() ? kNone : *found;
}

std::optional<double> number(const Json& json) {
  if (!json.is_number()) return std::nullopt;
  const auto value = json.get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> integer(const Json& json) {
  if (json.is_number_integer() && !json.is_number_unsigned()) return json.get<std::int64_t>();
  const auto value = number(json);
  constexpr double kMost = 9e18;
  if (!value || std::abs(*value) > kMost) return std::nullopt;
  return json.is_number_unsigned() ? json.get<std::int64_t>() : std::llround(*value);
}

std::string text(const Json& json) {
  constexpr std::size_t kMostTextBytes = 1000;
  return json.is_string() ? json.get_ref<const std::string&>().substr(0, kMostTextBytes)
                          : std::string();
}

bool flag(const Json& json) { return json.is_boolean() && json.get<bool>(); }

double seconds(const Json& json) {
  return std::clamp(number(json).value_or(0), -kMostSeconds, kMostSeconds);
}

store::Statistics statistics(const Json& json) {
  return {number(at(json, "mean")), number(at(json, "max")), number(at(json, "min"))};
}

void put_outcome(const Json& json, record::Outcome& outcome) {
  using Outcome = record::Outcome;
  const std::string word = text(json);
  for (const Outcome one : {Outcome::kOk, Outcome::kError, Outcome::kInterrupted, Outcome::kDied}) {
    if (word == record::outcome_word(one)) outcome = one;
  }
}

store::MetricSummary metric(const Json& json) {
  store::MetricSummary figures;
  if (json.is_object()) {
    figures.kind = record::Kind::kGauge;
    figures.values = statistics(json);
  } else {
    figures.gain = integer(json);
    figures.real_gain = number(json);
  }
  return figures;
}

bool is_ordinary(std::string_view key) noexcept {
  constexpr std::array<std::string_view, 13> kKeys{
      "capacity",       "cpu_percent", "cpu_time_s",   "memory_bytes",       "io_read_bytes",
      "io_write_bytes", "io_read_ops", "io_write_ops", "storage_read_bytes", "storage_write_bytes",
      "processes",      "threads",     "devices"};
  return std::ranges::find(kKeys, key) != kKeys.end();
}

store::LevelSummary level(std::string_view name, const Json& json) {
  store::LevelSummary level;
  level.name = name;
  const Json& capacity = at(json, "capacity");
  level.capacity_cores = number(at(capacity, "cores"));
  level.capacity_memory_bytes = integer(at(capacity, "memory_bytes"));
  level.capacity_source = text(at(capacity, "source"));
  level.cpu_percent = statistics(at(json, "cpu_percent"));
  level.cpu_time_s = number(at(json, "cpu_time_s"));
  const Json& memory = at(json, "memory_bytes");
  static_cast<store::Statistics&>(level.memory_bytes) = statistics(memory);
  level.memory_bytes.begin = integer(at(memory, "begin"));
  level.memory_bytes.end = integer(at(memory, "end"));
  level.memory_bytes.peak = integer(at(memory, "peak"));
  level.memory_bytes.upper_bound = flag(at(memory, "upper_bound"));
  level.memory_bytes.peak_lower_bound = flag(at(memory, "peak_lower_bound"));
  level.io_read_bytes = integer(at(json, "io_read_bytes"));
  level.io_write_bytes = integer(at(json, "io_write_bytes"));
  level.io_read_ops = integer(at(json, "io_read_ops"));
  level.io_write_ops = integer(at(json, "io_write_ops"));
  level.storage_read_bytes = integer(at(json, "storage_read_bytes"));
  level.storage_write_bytes = integer(at(json, "storage_write_bytes"));
  level.processes_max = integer(at(at(json, "processes"), "max"));
  level.threads_max = integer(at(at(json, "threads"), "max"));
  for (const auto& [key, value] : json.items()) {
    if (!is_ordinary(key)) level.others[key] = metric(value);
  }
  const Json& devices = at(json, "devices");
  if (!devices.is_object()) return level;
  for (const auto& [device, metrics] : devices.items()) {
    if (!metrics.is_object()) continue;
    for (const auto& [key, value] : metrics.items()) {
      level.others[std::string(device).append(".").append(key)] = metric(value);
    }
  }
  return level;
}

void put_texts(const Json& json, std::map<std::string, std::string>& texts) {
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    if (value.is_string()) texts[key] = text(value);
  }
}

// Metrics of custom monitors are those of their devices.
void find_real(store::CellSummary& summary) {
  for (store::LevelSummary& level : summary.levels) {
    for (auto& [name, figures] : level.others) {
      const std::string_view device = std::string_view(name).substr(0, name.find('.'));
      const auto found = std::ranges::find(summary.devices, device, &record::Device::name);
      figures.real = found != summary.devices.end() && found->kind == record::kMonitorKind;
    }
  }
}

void put_engine(const Json& json, record::EngineTimes& engine) {
  const auto take = [&](std::string_view name, record::Value& value) {
    constexpr double kMost_s = 9e9;
    const std::optional<double> read_s = number(at(json, name));
    if (read_s && *read_s >= 0 && *read_s < kMost_s) {
      value = static_cast<record::Value>(std::llround(*read_s * 1e9));
    }
  };
  take("start_s", engine.start_ns);
  take("carry_s", engine.carry_ns);
  take("return_s", engine.return_ns);
}

void put_group(const Json& json, store::CellSummary& summary) {
  if (!json.is_object()) return;
  store::Group group;
  group.index = integer(at(json, "index")).value_or(0);
  group.name = text(at(json, "name")).substr(0, record::kMostGroupNameBytes);
  store::GroupSummary& found = summary.group.emplace();
  found = {group.index, group.name, store::group_name(group), {}};
  const Json& cells = at(json, "cells");
  if (!cells.is_array()) return;
  for (const Json& one : cells) {
    store::GroupCell& cell = found.cells.emplace_back();
    cell.index = integer(at(one, "index")).value_or(0);
    cell.execution_count = integer(at(one, "execution_count"));
    cell.duration_s = seconds(at(one, "duration_s"));
    cell.running = !at(one, "outcome").is_string();
    put_outcome(at(one, "outcome"), cell.outcome);
  }
}

void put_gaps(const Json& json, store::CellSummary& summary) {
  if (!json.is_array()) return;
  for (const Json& gap : json) {
    summary.gaps.push_back(
        {seconds(at(gap, "begin_s")), seconds(at(gap, "end_s")), text(at(gap, "reason"))});
  }
}

void put_devices(const Json& json, store::CellSummary& summary) {
  if (!json.is_object()) return;
  for (const auto& [name, one] : json.items()) {
    record::Device device;
    device.name = name;
    device.kind = text(at(one, "driver"));
    device.model = text(at(one, "model"));
    device.id = text(at(one, "id"));
    device.index = integer(at(one, "index")).value_or(0);
    device.memory_bytes =
        integer(at(one, "memory_bytes")).value_or(record::unknown(record::State::kNotYet));
    device.text = text(at(one, "text"));
    summary.devices.push_back(std::move(device));
  }
}

void put_consumers(const Json& json, store::CellSummary& summary) {
  const Json& list = at(json, "consumers");
  if (!list.is_array()) return;
  for (const Json& one : list) {
    record::Consumer consumer;
    consumer.pid = integer(at(one, "pid")).value_or(0);
    consumer.name = text(at(one, "name"));
    constexpr double kNsPerSecond = 1e9;
    constexpr double kMost = 9e9;
    const double cpu_s = std::clamp(seconds(at(one, "cpu_time_s")), 0.0, kMost);
    consumer.cpu_time_ns = std::llround(cpu_s * kNsPerSecond);
    consumer.memory_bytes =
        integer(at(one, "memory_bytes")).value_or(record::unknown(record::State::kNotYet));
    summary.consumers.push_back(std::move(consumer));
  }
  const Json& others = at(json, "other_consumers");
  summary.other_consumers = integer(at(others, "processes")).value_or(0);
  summary.other_consumers_cpu_time_s = seconds(at(others, "cpu_time_s"));
}

}  // namespace

std::optional<store::CellSummary> parse_summary(std::string_view json_text) {
  const Json json = Json::parse(json_text, nullptr, false);
  const Json& cell = at(json, "cell");
  const Json& levels = at(json, "levels");
  if (integer(at(json, "version")) != kVersion || !cell.is_object() || !levels.is_object()) {
    return std::nullopt;
  }
  store::CellSummary summary;
  summary.index = integer(at(cell, "index")).value_or(0);
  summary.execution_count = integer(at(cell, "execution_count"));
  summary.begin = text(at(cell, "begin"));
  summary.duration_s = seconds(at(cell, "duration_s"));
  put_outcome(at(cell, "outcome"), summary.outcome);
  summary.outcome_text = text(at(cell, "outcome_text"));
  summary.running = flag(at(cell, "running"));
  summary.ticks = integer(at(json, "ticks")).value_or(0);
  put_engine(at(json, "engine"), summary.engine);
  put_group(at(json, "group"), summary);
  put_gaps(at(json, "gaps"), summary);
  for (const std::string_view name : kLevels) {
    const auto found = levels.find(name);
    if (found == levels.end()) continue;
    if (found->is_object()) {
      summary.levels.push_back(level(name, *found));
    } else {
      store::LevelSummary absent;
      absent.name = name;
      absent.why_absent = text(at(at(json, "unknown"), name));
      if (absent.why_absent.empty()) absent.why_absent = "not yet: no reason was recorded";
      summary.levels.push_back(std::move(absent));
    }
  }
  put_devices(at(json, "devices"), summary);
  put_consumers(json, summary);
  put_texts(at(json, "unknown"), summary.unknown);
  put_texts(at(json, "units"), summary.units);
  put_texts(at(json, "notes"), summary.notes);
  find_real(summary);
  summary.rate_note = text(at(json, "rate_note"));
  summary.sample_age_s = number(at(json, "sample_age_s"));
  return summary;
}

}  // namespace view
