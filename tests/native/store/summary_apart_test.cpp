// What a summary says where a process was apart from the tree.
#include <gtest/gtest.h>

#include "store/summary.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

// An engine that waited apart from the tree had used 600 ms; what waits for it has them, the tree
// hasn't.
TEST(SummaryApart, CountsNothingOfWhoWasApart) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart + kMs, marks(kSecond)));
  recorder.edge(kStart + kMs, {{"process.cpu_time_ns", 1000 * kMs},
                               {"process.root_cpu_time_ns", 1000 * kMs},
                               {"process.io_write_bytes", 0},
                               {"process.root_io_write_bytes", 0}});
  record::EdgeCounters end = marks(1300 * kMs, 600 * kMs);
  end.io_write_bytes = 5 * kMiB;
  recorder.add(cell_end(kStart + kSecond, kStart + 1001 * kMs, end));
  recorder.edge(kStart + 1001 * kMs, {{"process.cpu_time_ns", 1301 * kMs},
                                      {"process.root_cpu_time_ns", 1901 * kMs},
                                      {"process.io_write_bytes", kMiB},
                                      {"process.root_io_write_bytes", 5 * kMiB}});
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_time_s, 0.3);
  EXPECT_EQ(level_of(summary, "process").io_write_bytes, kMiB);
  EXPECT_TRUE(summary.notes.empty());
}

TEST(SummaryApart, CountsNothingOfThemWhereTheLastSampleIsOld) {
  Recorder recorder;
  recorder.edge(kStart, {{"process.cpu_time_ns", 0}, {"process.root_cpu_time_ns", 0}});
  recorder.add(cell_begin(kStart, kStart, marks(0)));
  // It has been waited for, with 600 ms; after that a child with 510 ms that no sample has seen.
  recorder.row(kStart + 700 * kMs,
               {{"process.cpu_time_ns", 100 * kMs}, {"process.root_cpu_time_ns", 700 * kMs}});
  recorder.add(cell_end(kStart + 800 * kMs, 0, marks(120 * kMs, 1110 * kMs)));
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_time_s, 0.63);
}

}  // namespace
}  // namespace store
