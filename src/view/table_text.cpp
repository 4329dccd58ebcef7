#include "view/table_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "view/escape.hpp"
#include "view/summary.hpp"

namespace view {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kPieceBytes = 1U << 16;
constexpr std::size_t kMostNameCharacters = 200;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* kind_word(store::TableColumn::Kind kind) noexcept {
  using Kind = store::TableColumn::Kind;
  switch (kind) {
    case Kind::kKey:
      return "key";
    case Kind::kCounter:
      return "counter";
    case Kind::kGauge:
      return "gauge";
    case Kind::kRate:
      break;
  }
  return "rate";
}

// Collects small pieces to larger ones.
class Pieces {
 public:
  explicit Pieces(const Sink& sink) : sink_(sink) {}

  void add(std::string_view text) {
    text_ += text;
    flush_if(kPieceBytes);
  }
  // The shortest digits that mean this number.
  void add_number(const store::TableColumn& column, std::size_t row, std::string_view unknown) {
    if (column.is_double()) {
      const double value = column.rates[row];
      if (!std::isfinite(value)) return add(unknown);
      fmt::format_to(std::back_inserter(text_), "{}", value);
    } else {
      const std::int64_t value = column.numbers[row];
      if (value == store::kNoNumber) return add(unknown);
      fmt::format_to(std::back_inserter(text_), "{}", value);
    }
    flush_if(kPieceBytes);
  }
  void finish() { flush_if(1); }

 private:
  void flush_if(std::size_t bytes) {
    if (text_.size() < bytes) return;
    sink_(text_);
    text_.clear();
  }

  const Sink& sink_;
  std::string text_;
};

std::string csv_name(const std::string& name) {
  std::string shown = one_line(name, kMostNameCharacters);
  if (shown.find_first_of(",\"") == std::string::npos) return shown;
  std::string quoted = "\"";
  for (const char one : shown) quoted += one == '"' ? std::string("\"\"") : std::string(1, one);
  return quoted + '"';
}

}  // namespace

std::string table_head_json(const store::Table& table, const TableHead& head) {
  Json json;
  json["version"] = kVersion;
  json["label"] = head.label;
  json["host"] = head.host;
  json["level"] = table.level;
  json["rows"] = table.rows;
  json["columns"] = Json::array();
  for (const store::TableColumn& column : table.columns) {
    json["columns"].push_back(
        {{"name", column.name}, {"unit", column.unit}, {"kind", kind_word(column.kind)}});
  }
  json["cells"] = Json::array();
  for (const TableCell& cell : head.cells) {
    json["cells"].push_back({{"index", cell.summary.index},
                             {"begin_unix_ns", cell.summary.begin_wall_ns},
                             {"code", cell.source},
                             {"summary", Json::parse(summary_json(cell.summary))}});
  }
  for (const store::Group& group : head.groups) {
    json["groups"].push_back({{"index", group.index}, {"name", group.name}});
  }
  json["gaps"] = Json::array();
  for (const store::TableGap& gap : table.gaps) {
    json["gaps"].push_back({{"cell_index", gap.cell_index},
                            {"begin_unix_ns", gap.begin_unix_ns},
                            {"end_unix_ns", gap.end_unix_ns},
                            {"reason", gap.reason}});
  }
  json["missing"] = Json::array();
  for (const store::TableMissing& one : table.missing) {
    json["missing"].push_back({{"column", one.column}, {"rows", one.rows}, {"reason", one.reason}});
  }
  return text_of(json);
}

void write_table_json(const store::Table& table, const TableHead& head, const Sink& sink) {
  Pieces pieces(sink);
  std::string begin = table_head_json(table, head);
  begin.pop_back();
  pieces.add(begin);
  pieces.add(R"(,"data":{)");
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) pieces.add(",");
    pieces.add("\n" + text_of(Json(table.columns[i].name)) + ":[");
    for (std::size_t row = 0; row < table.rows; ++row) {
      if (row > 0) pieces.add(",");
      pieces.add_number(table.columns[i], row, "null");
    }
    pieces.add("]");
  }
  pieces.add("}}\n");
  pieces.finish();
}

void write_table_csv(const store::Table& table, const Sink& sink) {
  Pieces pieces(sink);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) pieces.add(",");
    pieces.add(csv_name(table.columns[i].name));
  }
  pieces.add("\r\n");
  for (std::size_t row = 0; row < table.rows; ++row) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (i > 0) pieces.add(",");
      pieces.add_number(table.columns[i], row, "");
    }
    pieces.add("\r\n");
  }
  pieces.finish();
}

}  // namespace view
