#include "store/group_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "store/grouped.hpp"
#include "store/table.hpp"

namespace store {
namespace {

using namespace synthetic;
using record::GroupStep;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Group, HasTheCellsBetweenItsBeginAndItsEnd) {
  Recorder recorder;
  two_cells(recorder);
  const Recording recording = recorder.open();
  ASSERT_EQ(recording.groups().size(), 1U);
  EXPECT_EQ(group_name(recording.groups()[0]), "g1 train");
  std::vector<std::int64_t> groups;
  for (const Cell& cell : recording.cells()) groups.push_back(cell.group);
  EXPECT_THAT(groups, ElementsAre(0, 1, 1, 0));
}

TEST(Group, DoesNotHaveTheCellsThatBeginAndEndIt) {
  Recorder recorder;
  recorder.edge(kStart);
  recorder.add(cell_begin(kStart, kStart, marks(0), 1));
  recorder.add(record::Group{1, kStart + kMs, GroupStep::kBegun, "", {}});
  recorder.add(cell_end(kStart + 2 * kMs, kStart, marks(0), 1));
  recorder.add(cell_begin(kStart + 3 * kMs, kStart, marks(0), 2));
  recorder.add(cell_end(kStart + 4 * kMs, kStart, marks(0), 2));
  recorder.add(cell_begin(kStart + 5 * kMs, kStart, marks(0), 3));
  recorder.add(record::Group{1, kStart + 6 * kMs, GroupStep::kEnded, "", {}});
  for (const bool ended : {false, true}) {
    if (ended) recorder.add(cell_end(kStart + 7 * kMs, kStart, marks(0), 3));
    const Recording recording = recorder.follow();
    EXPECT_THAT(cells_of(1, recording.cells()), ::testing::SizeIs(1));
    EXPECT_EQ(recording.cell(2)->group, 1);
  }
}

TEST(Group, SumsUpItsCellsAndLeavesOutTheTimeBetweenThem) {
  Recorder recorder;
  two_cells(recorder);
  const Recording recording = recorder.open();
  const CellSummary summary = group_summary_of(recording);
  EXPECT_DOUBLE_EQ(summary.duration_s, 4.0);
  EXPECT_EQ(summary.ticks, 9 + 29);
  EXPECT_EQ(summary.outcome, record::Outcome::kOk);
  EXPECT_FALSE(summary.running);
  EXPECT_EQ(summary.begin, summary_of(recording, 2).begin);
  ASSERT_EQ(summary.group->cells.size(), 2U);
  EXPECT_EQ(summary.group->cells[1].execution_count, 13);
  const LevelSummary& process = level_of(summary, "process");
  EXPECT_DOUBLE_EQ(*process.cpu_time_s, 2.6);
  // 100 % for 1 s, 10 % for 3 s.
  EXPECT_DOUBLE_EQ(*process.cpu_percent.mean, 32.5);
  EXPECT_DOUBLE_EQ(*process.cpu_percent.max, 100.0);
  EXPECT_DOUBLE_EQ(*process.cpu_percent.min, 10.0);
  EXPECT_DOUBLE_EQ(*process.capacity_cores, 2.0);
  EXPECT_EQ(process.memory_bytes.peak, 300 * kMiB);
  EXPECT_EQ(process.memory_bytes.begin, 100 * kMiB);
  EXPECT_EQ(process.io_read_bytes, 0);
  EXPECT_TRUE(summary.notes.empty());
}

TEST(Group, OfWhichSomethingIsNotKnownInOneCellHasALowerBound) {
  Recorder recorder;
  Cells cells(recorder);
  cells.step(1, kStart, GroupStep::kBegun);
  cells.cell(1, kStart + kSecond, 1000, 1000, 100 * kMiB);
  recorder.schema({"process.cpu_time_ns", "process.processes"});
  recorder.edge(kStart + 10 * kSecond, {{"process.cpu_time_ns", kSecond}});
  record::EdgeCounters none;
  recorder.add(cell_begin(kStart + 10 * kSecond, kStart + 10 * kSecond, none, 2));
  recorder.edge(kStart + 11 * kSecond, {{"process.cpu_time_ns", 2 * kSecond}});
  recorder.add(cell_end(kStart + 11 * kSecond, kStart + 11 * kSecond, none, 2));
  cells.step(1, kStart + 20 * kSecond, GroupStep::kEnded);
  const CellSummary summary = group_summary_of(recorder.open());
  EXPECT_EQ(level_of(summary, "process").io_read_bytes, 0);
  EXPECT_THAT(summary.notes.at("process.io_read_bytes"),
              HasSubstr("lower bound: not known of In [12]: "));
  EXPECT_FALSE(summary.unknown.contains("process.io_read_bytes"));
}

TEST(Group, ThatWasDroppedHasNoCells) {
  Recorder recorder;
  Cells cells(recorder);
  cells.step(1, kStart, GroupStep::kBegun);
  cells.cell(1, kStart + kSecond, 1000, 1000, 100 * kMiB);
  cells.step(1, kStart + 3 * kSecond, GroupStep::kDropped);
  cells.step(2, kStart + 4 * kSecond, GroupStep::kBegun);
  cells.cell(2, kStart + 5 * kSecond, 1000, 1000, 100 * kMiB);
  const Recording recording = recorder.open();
  EXPECT_EQ(recording.cell(1)->group, 0);
  EXPECT_EQ(recording.cell(2)->group, 2);
}

TEST(Group, IsTheSameWhenItsStepsAreSentTwiceOrInAnotherOrder) {
  Recorder recorder;
  Cells cells(recorder);
  cells.cell(1, kStart, 1000, 1000, 100 * kMiB);
  cells.step(1, kStart + 2 * kSecond, GroupStep::kBegun, "first");
  cells.step(1, kStart + 2 * kSecond, GroupStep::kBegun, "first");
  cells.cell(2, kStart + 3 * kSecond, 1000, 1000, 100 * kMiB);
  cells.step(1, kStart + 5 * kSecond, GroupStep::kEnded);
  cells.step(1, kStart + 5 * kSecond, GroupStep::kEnded);
  cells.step(7, kStart + 5 * kSecond, GroupStep::kEnded);  // its begin is lost
  const Recording recording = recorder.open();
  ASSERT_EQ(recording.groups().size(), 1U);
  EXPECT_EQ(cells_of(1, recording.cells()).size(), 1U);
}

TEST(Group, HasAColumnInTheTableOfItsCells) {
  Recorder recorder;
  two_cells(recorder);
  const Recording recording = recorder.open();
  const Table all = table_of(recording, recording.cells(), "process");
  ASSERT_EQ(all.columns[4].name, "group_index");
  const auto& numbers = all.columns[4].numbers;
  EXPECT_EQ(std::ranges::count(numbers, 1), 11 + 31);
  EXPECT_EQ(std::ranges::count(numbers, kNoNumber), 2 * 11);
  const Table first = table_of(recording, {recording.cells()[0]}, "process");
  EXPECT_NE(first.columns[4].name, "group_index");
}

}  // namespace
}  // namespace store
