// What a summary says of memory, and when its peak may have been higher.
#include <gtest/gtest.h>

#include "store/summary.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

TEST(SummaryMemory, WeighsMemoryByTime) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart, marks(0, 0, 50 * kMiB)));
  recorder.edge(kStart, {{"process.memory_bytes", 100 * kMiB}});
  recorder.row(kStart + 100 * kMs, {{"process.memory_bytes", 300 * kMiB}});
  recorder.row(kStart + 400 * kMs, {{"process.memory_bytes", 300 * kMiB}});
  recorder.add(cell_end(kStart + 500 * kMs, kStart + 500 * kMs, marks(0, 0, 420 * kMiB)));
  recorder.edge(kStart + 500 * kMs, {{"process.memory_bytes", 200 * kMiB}});
  const MemoryStatistics memory = level_of(summary_of(recorder.open()), "process").memory_bytes;
  // 0.1 s at 200 on average, 0.3 s at 300, 0.1 s at 250.
  EXPECT_DOUBLE_EQ(*memory.mean, (20.0 + 90.0 + 25.0) / 0.5 * kMiB);
  EXPECT_DOUBLE_EQ(*memory.max, 300.0 * kMiB);
  EXPECT_DOUBLE_EQ(*memory.min, 100.0 * kMiB);
  EXPECT_EQ(memory.begin, 100 * kMiB);
  EXPECT_EQ(memory.end, 200 * kMiB);
  EXPECT_EQ(memory.peak, 420 * kMiB);  // the kernel's mark rose: exact
  EXPECT_FALSE(memory.peak_lower_bound);
  EXPECT_FALSE(memory.upper_bound);
}

// Right after a fork only resident sizes are known, which count shared pages once a process.
TEST(SummaryMemory, PrefersSamplesWhoseSharingWasMeasured) {
  const auto memory_of = [](record::Value middle_is_bound) {
    Recorder recorder;
    recorder.add(cell_begin(kStart, kStart, marks(0, 0, 900 * kMiB)));
    recorder.edge(kStart,
                  {{"process.memory_bytes", 100 * kMiB}, {"process.memory_is_upper_bound", 1}});
    recorder.row(kStart + 100 * kMs, {{"process.memory_bytes", 60 * kMiB},
                                      {"process.memory_is_upper_bound", middle_is_bound}});
    recorder.add(cell_end(kStart + 200 * kMs, kStart + 200 * kMs, marks(0, 0, 900 * kMiB)));
    recorder.edge(kStart + 200 * kMs,
                  {{"process.memory_bytes", 90 * kMiB}, {"process.memory_is_upper_bound", 1}});
    return level_of(summary_of(recorder.open()), "process").memory_bytes;
  };
  EXPECT_FALSE(memory_of(0).upper_bound);
  EXPECT_DOUBLE_EQ(*memory_of(0).max, 60.0 * kMiB);
  EXPECT_TRUE(memory_of(0).peak_lower_bound);
  EXPECT_TRUE(memory_of(1).upper_bound);
  EXPECT_DOUBLE_EQ(*memory_of(1).max, 100.0 * kMiB);
}

// The kernel's high-water mark is a resident size, the samples are proportional.
TEST(SummaryMemory, TakesWhatOthersShareOffTheHighWaterMark) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart, marks(0, 0, 150 * kMiB)));
  const Values values{{"process.memory_bytes", 100 * kMiB}, {"process.rss_bytes", 115 * kMiB}};
  recorder.edge(kStart, values);
  recorder.add(cell_end(kStart + kSecond, kStart + kSecond, marks(0, 0, 250 * kMiB)));
  recorder.edge(kStart + kSecond, values);
  const MemoryStatistics memory = level_of(summary_of(recorder.open()), "process").memory_bytes;
  EXPECT_EQ(memory.peak, 235 * kMiB);
  EXPECT_FALSE(memory.peak_lower_bound);
}

MemoryStatistics memory_with(std::int64_t processes, record::EdgeCounters begin,
                             record::EdgeCounters end) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart, begin));
  recorder.edge(kStart, {{"process.processes", processes}});
  recorder.add(cell_end(kStart + kSecond, kStart + kSecond, end));
  recorder.edge(kStart + kSecond);
  return level_of(summary_of(recorder.open()), "process").memory_bytes;
}

TEST(SummaryMemory, SaysWhenThePeakMayHaveBeenHigher) {
  // The mark is above all samples and did not rise: it may have been reached again, or not.
  MemoryStatistics memory = memory_with(1, marks(0, 0, 900 * kMiB), marks(0, 0, 900 * kMiB));
  EXPECT_EQ(memory.peak, 100 * kMiB);
  EXPECT_TRUE(memory.peak_lower_bound);
  // Below all samples: nothing was higher.
  memory = memory_with(1, marks(0, 0, 100 * kMiB), marks(0, 0, 100 * kMiB));
  EXPECT_FALSE(memory.peak_lower_bound);
  // More than one process: their sum is known at the samples alone.
  memory = memory_with(2, marks(0, 0, 100 * kMiB), marks(0, 0, 300 * kMiB));
  EXPECT_EQ(memory.peak, 300 * kMiB);
  EXPECT_TRUE(memory.peak_lower_bound);
  // A child that no sample saw.
  record::EdgeCounters end = marks(0);
  end.children_peak_bytes = 700 * kMiB;
  memory = memory_with(1, marks(0), end);
  EXPECT_EQ(memory.peak, 700 * kMiB);
  EXPECT_TRUE(memory.peak_lower_bound);
}

}  // namespace
}  // namespace store
