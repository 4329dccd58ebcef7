#include "view/history_page.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "record/text.hpp"

namespace view {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string_view beginning(std::string_view code, std::size_t most) {
  if (code.size() <= most) return code;
  const auto continues = [](char byte) {  // it belongs to the character before
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
  };
  while (most > 0 && continues(code[most])) --most;
  return code.substr(0, most);
}

Json entry_of(const HistoryRow& row, std::size_t most_code) {
  const store::CellSummary& summary = row.summary;
  const store::LevelSummary* process = summary.level("process");
  std::optional<double> cpu_percent;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> io_bytes;
  if (process != nullptr) {
    cpu_percent = process->cpu_percent.mean;
    memory_bytes = process->memory_bytes.peak;
    if (process->io_read_bytes && process->io_write_bytes) {
      io_bytes = *process->io_read_bytes + *process->io_write_bytes;
    }
  }
  const std::string_view code = beginning(row.source, most_code);
  Json entry = {{"index", summary.index},
                {"execution_count", or_null(summary.execution_count)},
                {"begin", summary.begin},
                {"duration_s", summary.duration_s},
                {"cpu_percent", or_null(cpu_percent)},
                {"memory_bytes", or_null(memory_bytes)},
                {"io_bytes", or_null(io_bytes)},
                {"gpu_percent", or_null(gpu_percent(summary))},
                {"outcome", summary.running ? "running" : record::outcome_word(summary.outcome)},
                {"code", code},
                {"is_cut", code.size() < row.source.size()}};
  if (!row.group.empty()) entry["group"] = row.group;
  if (summary.group) {
    entry["label"] = "g" + std::to_string(summary.group->index);
    // Just before its cells, when the rows are in their order.
    const auto& cells = summary.group->cells;
    entry["index"] = cells.empty() ? 0 : static_cast<double>(cells.front().index) - 0.5;
  }
  return entry;
}

}  // namespace

std::string history_page_json(const std::vector<HistoryRow>& rows, std::size_t most_code) {
  Json cells = Json::array();
  for (const HistoryRow& row : rows) cells.push_back(entry_of(row, most_code));
  const Json page = {{"version", 1}, {"kind", "history"}, {"cells", std::move(cells)}};
  return page.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace view
