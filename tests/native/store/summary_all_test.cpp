// The figures of a whole recording.
#include <gtest/gtest.h>

#include "store/summary.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

TEST(SummaryOfAll, IsFromTheFirstSampleToTheLast) {
  Recorder recorder;
  recorder.row(kStart, {{"process.cpu_time_ns", 0}});
  recorder.row(kStart + 100 * kMs, {{"process.cpu_time_ns", 100 * kMs}});
  recorder.edge(kStart + 150 * kMs);
  recorder.add(cell_begin(kStart + 150 * kMs, kStart + 150 * kMs));
  recorder.row(kStart + 200 * kMs,
               {{"process.cpu_time_ns", 300 * kMs}, {"process.memory_bytes", 700 * kMiB}});
  const Recording recording = recorder.open();
  const CellSummary all = summarize_all(recording);
  EXPECT_DOUBLE_EQ(all.duration_s, 0.2);
  EXPECT_DOUBLE_EQ(*level_of(all, "process").cpu_time_s, 0.3);
  EXPECT_EQ(*level_of(all, "process").memory_bytes.peak, 700 * kMiB);
  EXPECT_FALSE(all.running);
}

TEST(SummaryOfAll, WithoutSamplesKnowsNothing) {
  Recorder recorder;
  const CellSummary all = summarize_all(recorder.open());
  EXPECT_EQ(all.ticks, 0);
  for (const LevelSummary& level : all.levels) EXPECT_FALSE(level.cpu_time_s);
}

}  // namespace
}  // namespace store
