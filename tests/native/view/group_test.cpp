// What is said of a group: its summary's text and JSON, and its row in the history.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/grouped.hpp"
#include "view/history.hpp"
#include "view/summary.hpp"
#include "view/summary_parse.hpp"

namespace view {
namespace {

using namespace synthetic;
using record::GroupStep;
using store::CellSummary;
using store::Recording;
using ::testing::HasSubstr;

TEST(Group, SaysWhichCellFailed) {
  Recorder recorder;
  two_cells(recorder, record::Outcome::kError);
  const CellSummary summary = group_summary_of(recorder.open());
  EXPECT_EQ(summary.outcome, record::Outcome::kError);
  EXPECT_THAT(summary_text(summary, "process"),
              HasSubstr("g1 train · 4.00 s · 2 cells · error (in In [13])"));
}

TEST(Group, WithoutAnEndSaysThatTheKernelEnded) {
  Recorder recorder;
  Cells cells(recorder);
  cells.step(1, kStart, GroupStep::kBegun, "train");
  cells.cell(1, kStart + kSecond, 1000, 1000, 100 * kMiB);
  const CellSummary living = group_summary_of(recorder.follow());
  EXPECT_TRUE(living.running);
  EXPECT_THAT(summary_text(living, "process"),
              HasSubstr("g1 train · open, so far 1.00 s · 1 cell\n"));
  const CellSummary dead = group_summary_of(recorder.open());
  EXPECT_EQ(dead.outcome, record::Outcome::kInterrupted);
  EXPECT_EQ(dead.outcome_text, "the kernel ended in this group");
}

TEST(Group, HasTheEnginesTimesOfItsEnd) {
  Recorder recorder;
  Cells cells(recorder);
  cells.step(1, kStart, GroupStep::kBegun);
  cells.cell(1, kStart + kSecond, 1000, 1000, 100 * kMiB);
  recorder.add(record::Group{
      1, kStart + 3 * kSecond, GroupStep::kEnded, "", {kSecond, 2 * kSecond, 3 * kSecond}});
  const CellSummary summary = group_summary_of(recorder.open());
  EXPECT_EQ(summary.engine.return_ns, 3 * kSecond);
  EXPECT_THAT(summary_text(summary, "process"), HasSubstr("engine"));
}

TEST(Group, ComesBackFromItsJson) {
  Recorder recorder;
  two_cells(recorder, record::Outcome::kError);
  const CellSummary summary = group_summary_of(recorder.open());
  const std::string json = summary_json(summary);
  const auto back = parse_summary(json);
  ASSERT_TRUE(back && back->group);
  EXPECT_EQ(summary_text(*back, "process"), summary_text(summary, "process"));
}

TEST(Group, HasARowInTheHistoryBeforeItsCells) {
  Recorder recorder;
  two_cells(recorder);
  const Recording recording = recorder.open();
  const auto rows =
      history_rows(recording, recording.groups(), recording.cells(), {"a", "b", "c", "d"});
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_TRUE(rows[1].summary.group);
  EXPECT_EQ(rows[2].group, "g1 train");
  const std::string text = history_text(rows);
  EXPECT_THAT(text, HasSubstr("\ng1 "));
  EXPECT_THAT(text, HasSubstr("\n· #2 "));
  EXPECT_THAT(text, HasSubstr("\n#4 "));
}

}  // namespace
}  // namespace view
