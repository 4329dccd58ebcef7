#include <cmath>
#include <nlohmann/json.hpp>

#include "record/text.hpp"
#include "view/summary.hpp"

namespace view {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kMostGaps = 20;

// Numbers that JSON can hold, without digits that mean nothing.
Json number(double value, double steps) {
  if (!std::isfinite(value)) return nullptr;
  const double scaled = value * steps;
  constexpr double kMostExact = 9e15;
  return std::abs(scaled) < kMostExact ? Json(std::round(scaled) / steps) : Json(value);
}
Json seconds(double value) { return number(value, 1e9); }  // exact: texts are made of them, too
Json percent(double value) { return number(value, 1e3); }

template <typename Make>
Json optional_number(const std::optional<double>& value, Make make) {
  return value ? make(*value) : Json(nullptr);
}
Json integer(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json whole(const std::optional<double>& value) {
  return optional_number(value, [](double one) -> Json {
    constexpr double kMost = 9e18;
    if (!std::isfinite(one)) return nullptr;
    if (std::abs(one) > kMost) return one;
    return static_cast<std::int64_t>(std::llround(one));
  });
}

Json cell_object(const store::CellSummary& summary) {
  Json cell;
  cell["index"] = summary.index;
  cell["execution_count"] = integer(summary.execution_count);
  cell["begin"] = summary.begin;
  cell["duration_s"] = seconds(summary.duration_s);
  cell["outcome"] =
      summary.running ? Json(nullptr) : Json(std::string(record::outcome_word(summary.outcome)));
  if (!summary.outcome_text.empty()) cell["outcome_text"] = summary.outcome_text;
  if (summary.running) cell["running"] = true;
  return cell;
}

// Exact; whole numbers without a point.
Json real(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  constexpr double kMostExact = 9007199254740992;  // 2^53
  if (*value != std::trunc(*value) || std::abs(*value) > kMostExact) return *value;
  return static_cast<std::int64_t>(*value);
}

Json real_json(const store::MetricSummary& figures) {
  if (figures.kind == record::Kind::kCounter) return real(figures.real_gain);
  if (!figures.values.max) return nullptr;
  return {{"mean", real(figures.values.mean)},
          {"max", real(figures.values.max)},
          {"min", real(figures.values.min)}};
}

// What is 0 all the time is left out: of some fifty metrics most are. Unknown ones are null.
void put_others(const store::LevelSummary& level, Json& json) {
  for (const auto& [name, figures] : level.others) {
    const std::size_t dot = name.find('.');
    const bool of_device = dot != std::string::npos;
    Json value;
    if (figures.real) {
      value = real_json(figures);
    } else if (figures.gain) {
      if (*figures.gain == 0) continue;
      value = *figures.gain;
    } else if (figures.values.max) {
      if (*figures.values.max == 0 && !of_device) continue;
      value = {{"mean", whole(figures.values.mean)},
               {"max", whole(figures.values.max)},
               {"min", whole(figures.values.min)}};
    }
    if (of_device) {
      json["devices"][name.substr(0, dot)][name.substr(dot + 1)] = std::move(value);
    } else {
      json[name] = std::move(value);
    }
  }
}

Json devices_object(const std::vector<record::Device>& devices) {
  Json json = Json::object();
  for (const record::Device& device : devices) {
    json[device.name] = {
        {"driver", device.kind},
        {"model", device.model},
        {"id", device.id},
        {"index", device.index},
        {"memory_bytes",
         record::is_known(device.memory_bytes) ? Json(device.memory_bytes) : Json(nullptr)}};
    if (!device.text.empty()) json[device.name]["text"] = device.text;
  }
  return json;
}

Json consumers_array(const store::CellSummary& summary) {
  Json json = Json::array();
  for (const record::Consumer& one : summary.consumers) {
    json.push_back({{"pid", one.pid},
                    {"name", one.name},
                    {"cpu_time_s", seconds(static_cast<double>(one.cpu_time_ns) / 1e9)},
                    {"memory_bytes",
                     record::is_known(one.memory_bytes) ? Json(one.memory_bytes) : Json(nullptr)}});
  }
  return json;
}

Json engine_object(const record::EngineTimes& engine) {
  const auto time = [](record::Value value) {
    return record::is_known(value) ? seconds(static_cast<double>(value) / 1e9) : Json(nullptr);
  };
  return {{"start_s", time(engine.start_ns)},
          {"carry_s", time(engine.carry_ns)},
          {"return_s", time(engine.return_ns)}};
}

Json group_object(const store::GroupSummary& group) {
  Json cells = Json::array();
  for (const store::GroupCell& cell : group.cells) {
    const std::string word(record::outcome_word(cell.outcome));
    cells.push_back({{"index", cell.index},
                     {"execution_count", integer(cell.execution_count)},
                     {"duration_s", seconds(cell.duration_s)},
                     {"outcome", cell.running ? Json(nullptr) : Json(word)}});
  }
  return {{"index", group.index}, {"name", group.name}, {"cells", std::move(cells)}};
}

Json level_object(const store::LevelSummary& level) {
  Json json;
  json["capacity"] = {{"cores", optional_number(level.capacity_cores, percent)},
                      {"memory_bytes", integer(level.capacity_memory_bytes)},
                      {"source", level.capacity_source}};
  json["cpu_percent"] = {{"mean", optional_number(level.cpu_percent.mean, percent)},
                         {"max", optional_number(level.cpu_percent.max, percent)},
                         {"min", optional_number(level.cpu_percent.min, percent)}};
  json["cpu_time_s"] = optional_number(level.cpu_time_s, seconds);
  const store::MemoryStatistics& memory = level.memory_bytes;
  json["memory_bytes"] = {
      {"mean", whole(memory.mean)},        {"max", whole(memory.max)},
      {"min", whole(memory.min)},          {"begin", integer(memory.begin)},
      {"end", integer(memory.end)},        {"peak", integer(memory.peak)},
      {"upper_bound", memory.upper_bound}, {"peak_lower_bound", memory.peak_lower_bound}};
  json["io_read_bytes"] = integer(level.io_read_bytes);
  json["io_write_bytes"] = integer(level.io_write_bytes);
  json["io_read_ops"] = integer(level.io_read_ops);
  json["io_write_ops"] = integer(level.io_write_ops);
  json["storage_read_bytes"] = integer(level.storage_read_bytes);
  json["storage_write_bytes"] = integer(level.storage_write_bytes);
  json["processes"] = {{"max", integer(level.processes_max)}};
  json["threads"] = {{"max", integer(level.threads_max)}};
  put_others(level, json);
  return json;
}

}  // namespace

std::string summary_json(const store::CellSummary& summary) {
  Json json;
  json["version"] = kVersion;
  json["cell"] = cell_object(summary);
  if (summary.group) json["group"] = group_object(*summary.group);
  if (summary.engine.any()) json["engine"] = engine_object(summary.engine);
  json["ticks"] = summary.ticks;
  json["gaps"] = Json::array();
  for (const store::GapSummary& gap : summary.gaps) {
    if (json["gaps"].size() == kMostGaps) {
      json["gaps_left_out"] = summary.gaps.size() - kMostGaps;
      break;
    }
    json["gaps"].push_back(
        {{"begin_s", seconds(gap.begin_s)}, {"end_s", seconds(gap.end_s)}, {"reason", gap.reason}});
  }
  json["levels"] = Json::object();
  for (const store::LevelSummary& level : summary.levels) {
    json["levels"][level.name] = level.why_absent.empty() ? level_object(level) : Json(nullptr);
  }
  if (!summary.devices.empty()) json["devices"] = devices_object(summary.devices);
  if (summary.consumers.size() > 1) {
    json["consumers"] = consumers_array(summary);
    json["other_consumers"] = {{"processes", summary.other_consumers},
                               {"cpu_time_s", seconds(summary.other_consumers_cpu_time_s)}};
  }
  json["unknown"] = summary.unknown;
  if (!summary.units.empty()) json["units"] = summary.units;
  if (!summary.notes.empty()) json["notes"] = summary.notes;
  if (!summary.rate_note.empty()) json["rate_note"] = summary.rate_note;
  if (summary.sample_age_s) json["sample_age_s"] = seconds(*summary.sample_age_s);
  // Bytes that aren't UTF-8 become U+FFFD.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace view
