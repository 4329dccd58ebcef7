#include "view/history_page.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "view/made_up.hpp"

namespace view {
namespace {

nlohmann::json cells_of(const std::vector<HistoryRow>& rows, std::size_t most_code = 4000) {
  const auto page = nlohmann::json::parse(history_page_json(rows, most_code));
  EXPECT_EQ(page["version"], 1);
  EXPECT_EQ(page["kind"], "history");
  return page["cells"];
}

TEST(HistoryPage, HasTheFiguresOfTheTree) {
  const store::CellSummary summary = made_up::summary();
  const auto cells = cells_of({{summary, "x = 1"}});
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0]["index"], summary.index);
  EXPECT_EQ(cells[0]["outcome"], "ok");
  EXPECT_EQ(cells[0]["duration_s"], summary.duration_s);
  EXPECT_EQ(cells[0]["code"], "x = 1");
  EXPECT_EQ(cells[0]["is_cut"], false);
  const store::LevelSummary& tree = summary.levels[0];
  EXPECT_EQ(cells[0]["cpu_percent"], *tree.cpu_percent.mean);
  EXPECT_EQ(cells[0]["memory_bytes"], *tree.memory_bytes.peak);
  EXPECT_EQ(cells[0]["io_bytes"], *tree.io_read_bytes + *tree.io_write_bytes);
}

TEST(HistoryPage, WhatIsUnknownIsNull) {
  store::CellSummary summary;
  summary.running = true;
  const auto cells = cells_of({{summary, ""}});
  for (const char* figure :
       {"execution_count", "cpu_percent", "memory_bytes", "io_bytes", "gpu_percent"}) {
    EXPECT_TRUE(cells[0][figure].is_null()) << figure;
  }
  EXPECT_EQ(cells[0]["outcome"], "running");
}

TEST(HistoryPage, HasCodeAsFarAsItIsCharacters) {
  const auto cells =
      cells_of({{made_up::summary(), "a\n</script>\xFF"}, {made_up::summary(), "12345\u00F6"}}, 6);
  EXPECT_EQ(cells[0]["code"], "a\n</sc");
  EXPECT_EQ(cells[0]["is_cut"], true);
  EXPECT_EQ(cells[1]["code"], "12345");
  EXPECT_EQ(cells[1]["is_cut"], true);
  EXPECT_EQ(cells_of({{made_up::summary(), "a\xFF"}})[0]["code"], "a\uFFFD");
}

TEST(HistoryPage, TheBusiestCardIsShownWhenTheTreesUseIsUnknown) {
  store::CellSummary summary = made_up::summary();
  store::LevelSummary& node = summary.levels.at(1);
  ASSERT_EQ(node.name, "node");
  node.others["gpu0.utilization_percent"].values.mean = 12;
  node.others["gpu1.utilization_percent"].values.mean = 70;
  node.others["gpu1.memory_bytes"].values.mean = 99;
  EXPECT_EQ(cells_of({{summary, ""}})[0]["gpu_percent"], 70);
}

}  // namespace
}  // namespace view
