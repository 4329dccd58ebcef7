#include "view/table_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace view {
namespace {

using store::TableColumn;

store::Table small_table() {
  store::Table table;
  table.level = "process";
  table.rows = 2;
  table.columns = {
      {"cell_index", "", TableColumn::Kind::kKey, {1, 1}, {}, false},
      {"cpu_time_ns", "ns", TableColumn::Kind::kCounter, {0, 9007199254740993}, {}, false},
      {"cpu_percent", "%", TableColumn::Kind::kRate, {}, {std::nan(""), 99.999}, true},
      {"io_read_bytes", "B", TableColumn::Kind::kGauge, {store::kNoNumber, 7}, {}, true}};
  table.gaps = {{1, 10, 20, "the sampler was stopped or starved"}};
  table.missing = {{"io_read_bytes", 1, "not permitted: closed"}};
  return table;
}

TableHead head_of(const std::string& source) {
  TableHead head{"a <notebook>", "node7", {}};
  head.cells.push_back({store::CellSummary(), source});
  head.cells.back().summary.index = 1;
  return head;
}

std::string csv_of(const store::Table& table) {
  std::string text;
  write_table_csv(table, [&](std::string_view piece) { text += piece; });
  return text;
}

nlohmann::json json_of(const store::Table& table, const TableHead& head) {
  std::string text;
  write_table_json(table, head, [&](std::string_view piece) { text += piece; });
  return nlohmann::json::parse(text);
}

TEST(TableText, CsvLeavesUnknownFieldsEmpty) {
  EXPECT_EQ(csv_of(small_table()),
            "cell_index,cpu_time_ns,cpu_percent,io_read_bytes\r\n"
            "1,0,,\r\n"
            "1,9007199254740993,99.999,7\r\n");
}

TEST(TableText, CsvQuotesWhatNamesMayHold) {
  store::Table table;
  table.columns = {{"a,\"b\"\r\n", "", TableColumn::Kind::kKey, {}, {}, false}};
  EXPECT_EQ(csv_of(table), "\"a,\"\"b\"\"\\r\\n\"\r\n");
}

TEST(TableText, JsonDescribesItself) {
  const auto json = json_of(small_table(), head_of("x = '\xF0\x9F\x98\x80'\n"));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["label"], "a <notebook>");
  EXPECT_EQ(json["level"], "process");
  EXPECT_EQ(json["rows"], 2);
  EXPECT_EQ(json["columns"][1]["unit"], "ns");
  EXPECT_EQ(json["columns"][2]["kind"], "rate");
  EXPECT_EQ(json["cells"][0]["code"], "x = '\xF0\x9F\x98\x80'\n");
  EXPECT_EQ(json["cells"][0]["summary"]["version"], 1);
  EXPECT_EQ(json["gaps"][0]["end_unix_ns"], 20);
  EXPECT_EQ(json["missing"][0]["reason"], "not permitted: closed");
  EXPECT_EQ(json["data"]["cpu_time_ns"][1], 9007199254740993);
  EXPECT_EQ(json["data"]["cpu_percent"][0], nullptr);
  EXPECT_EQ(json["data"]["io_read_bytes"][0], nullptr);
  EXPECT_EQ(json["data"]["io_read_bytes"][1], 7);
}

TEST(TableText, BytesThatAreNoTextAreReplaced) {
  store::Table table = small_table();
  table.columns[0].name = "\xFF";
  const auto json = json_of(table, head_of("\xED\xA0\x80"));
  EXPECT_EQ(json["columns"][0]["name"], "\xEF\xBF\xBD");
  EXPECT_TRUE(json["data"].contains("\xEF\xBF\xBD"));
}

TEST(TableText, LargeTablesComeInPieces) {
  store::Table table;
  table.rows = 100'000;
  table.columns = {{"n",
                    "",
                    TableColumn::Kind::kGauge,
                    std::vector<std::int64_t>(table.rows, 123456),
                    {},
                    false}};
  std::size_t pieces = 0;
  std::size_t most = 0;
  write_table_csv(table, [&](std::string_view piece) {
    ++pieces;
    most = std::max(most, piece.size());
  });
  EXPECT_GT(pieces, 10U);
  EXPECT_LT(most, 70'000U);
}

}  // namespace
}  // namespace view
