#include "tools/json_lines.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "record/real.hpp"
#include "record/text.hpp"

namespace tools {
namespace {

using Json = nlohmann::ordered_json;

Json value_json(record::Value value) {
  return record::is_known(value) ? Json(value) : Json(nullptr);
}

std::string line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json counters_json(const record::EdgeCounters& counters) {
  return {{"cpu_time_ns", value_json(counters.cpu_time_ns)},
          {"children_cpu_time_ns", value_json(counters.children_cpu_time_ns)},
          {"io_read_bytes", value_json(counters.io_read_bytes)},
          {"io_write_bytes", value_json(counters.io_write_bytes)},
          {"io_read_ops", value_json(counters.io_read_ops)},
          {"io_write_ops", value_json(counters.io_write_ops)},
          {"storage_read_bytes", value_json(counters.storage_read_bytes)},
          {"storage_write_bytes", value_json(counters.storage_write_bytes)},
          {"peak_bytes", value_json(counters.peak_bytes)},
          {"children_peak_bytes", value_json(counters.children_peak_bytes)},
          {"voluntary_switches", value_json(counters.voluntary_switches)},
          {"involuntary_switches", value_json(counters.involuntary_switches)},
          {"children_voluntary_switches", value_json(counters.children_voluntary_switches)},
          {"children_involuntary_switches", value_json(counters.children_involuntary_switches)}};
}

Json engine_json(const record::EngineTimes& engine) {
  return {{"start_ns", value_json(engine.start_ns)},
          {"carry_ns", value_json(engine.carry_ns)},
          {"return_ns", value_json(engine.return_ns)}};
}

Json execution_count_json(std::int64_t count) {
  return count == record::kNoExecutionCount ? Json(nullptr) : Json(count);
}

struct Objects {
  Json operator()(const record::Machine& machine) const {
    return {{"kind", "machine"},
            {"time_ns", machine.time_ns},
            {"wall_offset_ns", machine.wall_offset_ns},
            {"host", machine.host},
            {"boot_id", machine.boot_id},
            {"kernel_release", machine.kernel_release},
            {"jumper_version", machine.jumper_version},
            {"label", machine.label},
            {"root_pid", machine.root_pid},
            {"root_start_ticks", machine.root_start_ticks},
            {"sampler_pid", machine.sampler_pid},
            {"uid", machine.uid},
            {"cores_online", machine.cores_online},
            {"memory_bytes", machine.memory_bytes},
            {"affinity", machine.affinity},
            {"process_source", machine.process_source},
            {"user_source", machine.user_source},
            {"job_source", machine.job_source},
            {"node_source", machine.node_source}};
  }
  Json operator()(const record::Schema& schema) const {
    Json columns = Json::array();
    for (const record::Column& column : schema.columns) {
      const char* kind = column.kind == record::Kind::kCounter ? "counter" : "gauge";
      columns.push_back({{"name", column.name}, {"kind", kind}});
      if (!column.real) continue;
      columns.back()["real"] = true;
      columns.back()["unit"] = column.unit;
    }
    return {{"kind", "schema"}, {"columns", columns}};
  }
  Json operator()(const record::Settings& settings) const {
    return {{"kind", "settings"},
            {"time_ns", settings.time_ns},
            {"rate_hz", settings.rate_hz},
            {"reason", settings.reason}};
  }
  Json operator()(const record::Missing& missing) const {
    return {{"kind", "missing"},
            {"time_ns", missing.time_ns},
            {"name", missing.name},
            {"state", record::state_word(missing.state)},
            {"reason", missing.reason}};
  }
  Json operator()(const record::CellBegin& cell) const {
    return {{"kind", "cell_begin"},
            {"index", cell.index},
            {"execution_count", execution_count_json(cell.execution_count)},
            {"time_ns", cell.time_ns},
            {"sample_ns", cell.sample_ns},
            {"counters", counters_json(cell.counters)},
            {"source_bytes", cell.source_bytes},
            {"source", cell.source}};
  }
  Json operator()(const record::CellEnd& cell) const {
    Json json{{"kind", "cell_end"},
              {"index", cell.index},
              {"execution_count", execution_count_json(cell.execution_count)},
              {"time_ns", cell.time_ns},
              {"sample_ns", cell.sample_ns},
              {"outcome", record::outcome_word(cell.outcome)},
              {"counters", counters_json(cell.counters)}};
    if (cell.engine.any()) json["engine"] = engine_json(cell.engine);
    return json;
  }
  Json operator()(const record::Gap& gap) const {
    return {{"kind", "gap"},
            {"begin_ns", gap.begin_ns},
            {"end_ns", gap.end_ns},
            {"reason", record::gap_reason_text(gap.reason)},
            {"text", gap.text}};
  }
  Json operator()(const record::End& end) const {
    return {{"kind", "end"},
            {"time_ns", end.time_ns},
            {"cause", record::end_text(end)},
            {"memory_peak_bytes", value_json(end.memory_peak_bytes)},
            {"memory_limit_bytes", value_json(end.memory_limit_bytes)},
            {"text", end.text}};
  }
  Json operator()(const record::Stacks& stacks) const {
    return {{"kind", "stacks"}, {"time_ns", stacks.time_ns}, {"text", stacks.text}};
  }
  Json operator()(const record::NearLimit& near) const {
    Json largest = Json::array();
    for (const auto& one : near.largest) {
      largest.push_back({{"pid", one.pid}, {"name", one.name}, {"memory_bytes", one.memory_bytes}});
    }
    return {{"kind", "near_limit"},
            {"time_ns", near.time_ns},
            {"source", near.source},
            {"memory_bytes", near.memory_bytes},
            {"limit_bytes", near.limit_bytes},
            {"largest", std::move(largest)}};
  }
  Json operator()(const record::Group& group) const {
    Json json{{"kind", "group"},
              {"index", group.index},
              {"time_ns", group.time_ns},
              {"step", record::group_step_word(group.step)},
              {"name", group.name}};
    if (group.engine.any()) json["engine"] = engine_json(group.engine);
    return json;
  }
  Json operator()(const record::Told& told) const {
    return {{"kind", "told"}, {"wall_ns", told.wall_ns}};
  }
  Json operator()(const record::Device& device) const {
    return {{"kind", "device"},      {"time_ns", device.time_ns},
            {"name", device.name},   {"driver", device.kind},
            {"model", device.model}, {"id", device.id},
            {"index", device.index}, {"memory_bytes", value_json(device.memory_bytes)},
            {"text", device.text}};
  }
  Json operator()(const record::Consumers& consumers) const {
    Json list = Json::array();
    for (const record::Consumer& one : consumers.list) {
      list.push_back({{"pid", one.pid},
                      {"start_ticks", one.start_ticks},
                      {"name", one.name},
                      {"cpu_time_ns", one.cpu_time_ns},
                      {"memory_bytes", value_json(one.memory_bytes)},
                      {"ended", one.ended}});
    }
    return {{"kind", "consumers"},
            {"begin_ns", consumers.begin_ns},
            {"end_ns", consumers.end_ns},
            {"others", consumers.others},
            {"others_cpu_time_ns", consumers.others_cpu_time_ns},
            {"list", list}};
  }
};

}  // namespace

std::string record_json(const record::Record& record) {
  return line(std::visit(Objects{}, record));
}

std::string row_json(const record::Rows& rows, std::size_t row, const record::Schema& schema) {
  Json flags = Json::array();
  if ((rows.flags[row] & record::kEdgeSample) != 0) flags.push_back("edge");
  if ((rows.flags[row] & record::kLateSample) != 0) flags.push_back("late");
  Json values = Json::object();
  for (std::size_t column = 0; column < rows.columns; ++column) {
    const std::string name = column < schema.columns.size() ? schema.columns[column].name
                                                            : fmt::format("column{}", column);
    const bool real = column < schema.columns.size() && schema.columns[column].real;
    const auto number = record::number_of(real, rows.at(column, row));
    values[name] =
        real ? (number ? Json(*number) : Json(nullptr)) : value_json(rows.at(column, row));
  }
  return line({{"kind", "row"},
               {"time_ns", rows.time_ns[row]},
               {"duration_ns", rows.duration_ns[row]},
               {"sampler_cpu_ns", rows.cpu_ns[row]},
               {"flags", flags},
               {"values", values}});
}

std::string damage_json(const record::Damage& damage) {
  return line({{"kind", "damage"},
               {"offset", damage.offset},
               {"bytes", damage.bytes},
               {"what", damage.what}});
}

}  // namespace tools
