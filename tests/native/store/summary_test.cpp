// What summaries say, against truths that are written down beside them.
#include "store/summary.hpp"

#include <gtest/gtest.h>

#include <string>

#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;
// A cell of one second with a tick every 100 ms, both edges sampled 2 ms after the mark. The
// kernel alone; in each tick it uses `busy_ms` on its two cores; the node uses 400 ms of 800.
void steady_cell(Recorder& recorder, std::int64_t busy_ms) {
  const auto rows = [busy_ms](std::int64_t since_ns) {
    const std::int64_t process = 5 * kSecond + busy_ms * since_ns / 100;
    return Values{{"process.cpu_time_ns", process},
                  {"process.root_cpu_time_ns", process},
                  {"node.cpu_time_ns", 70 * kSecond + 4 * since_ns}};
  };
  const auto own = [busy_ms](std::int64_t since_ns) {
    return marks(5 * kSecond + busy_ms * since_ns / 100);
  };
  recorder.row(kStart - 60 * kMs, rows(-60 * kMs));
  recorder.add(cell_begin(kStart, kStart + 2 * kMs, own(0)));
  recorder.edge(kStart + 2 * kMs, rows(2 * kMs));
  for (int tick = 0; tick < 10; ++tick) {
    const std::int64_t since_ns = (40 + tick * 100) * kMs;
    recorder.row(kStart + since_ns, rows(since_ns));
  }
  recorder.add(cell_end(kStart + kSecond, kStart + 1002 * kMs, own(kSecond)));
  recorder.edge(kStart + 1002 * kMs, rows(1002 * kMs));
}

TEST(Summary, OfASteadyCellIsExact) {
  Recorder recorder;
  steady_cell(recorder, 150);
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_EQ(summary.index, 1);
  EXPECT_EQ(summary.execution_count, 11);
  EXPECT_EQ(summary.begin, "2023-11-14T22:15:00.000000Z");
  EXPECT_DOUBLE_EQ(summary.duration_s, 1.0);
  EXPECT_EQ(summary.outcome, record::Outcome::kOk);
  EXPECT_FALSE(summary.running);
  EXPECT_EQ(summary.ticks, 10);
  EXPECT_FALSE(summary.sample_age_s);
  EXPECT_TRUE(summary.gaps.empty());
  EXPECT_TRUE(summary.notes.empty());

  const LevelSummary& process = level_of(summary, "process");
  EXPECT_DOUBLE_EQ(*process.capacity_cores, 2.0);
  EXPECT_EQ(process.capacity_memory_bytes, 1000 * kMiB);
  EXPECT_EQ(process.capacity_source, "affinity");
  EXPECT_DOUBLE_EQ(*process.cpu_time_s, 1.5);
  EXPECT_DOUBLE_EQ(*process.cpu_percent.mean, 75.0);
  EXPECT_DOUBLE_EQ(*process.cpu_percent.max, 75.0);
  EXPECT_DOUBLE_EQ(*process.cpu_percent.min, 75.0);
  EXPECT_DOUBLE_EQ(*process.memory_bytes.mean, 100.0 * kMiB);
  EXPECT_EQ(process.memory_bytes.begin, 100 * kMiB);
  EXPECT_EQ(process.memory_bytes.end, 100 * kMiB);
  EXPECT_EQ(process.memory_bytes.peak, 100 * kMiB);
  EXPECT_FALSE(process.memory_bytes.upper_bound);
  EXPECT_FALSE(process.memory_bytes.peak_lower_bound);
  EXPECT_EQ(process.io_read_bytes, 0);
  EXPECT_EQ(process.processes_max, 1);
  EXPECT_EQ(process.threads_max, 1);

  const LevelSummary& node = level_of(summary, "node");
  EXPECT_DOUBLE_EQ(*node.capacity_cores, 8.0);
  EXPECT_EQ(node.capacity_source, "online cores");
  EXPECT_DOUBLE_EQ(*node.cpu_time_s, 4.0);
  EXPECT_DOUBLE_EQ(*node.cpu_percent.mean, 50.0);
  EXPECT_DOUBLE_EQ(*node.cpu_percent.max, 50.0);
  EXPECT_EQ(node.storage_read_bytes, 0);
  EXPECT_FALSE(node.io_read_bytes);
  EXPECT_EQ(summary.unknown.size(), 4U);
  EXPECT_EQ(summary.unknown.at("node.io_read_bytes"),
            "not supported: the system counts all I/O by process only");
}

TEST(Summary, TakesTheReasonFromTheRecording) {
  Recorder recorder;
  recorder.add(record::Missing{2, "node.io", record::State::kNotSupported, "by process only"});
  recorder.add(record::Missing{2, "process.io_read_bytes", record::State::kNotPermitted,
                               "io of 2 children is refused"});
  steady_cell(recorder, 50);
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_EQ(summary.unknown.at("node.io_write_ops"), "not supported: by process only");
  EXPECT_EQ(summary.notes.at("process.io_read_bytes"),
            "incomplete: not permitted: io of 2 children is refused");
}

// case 3: children that are gone before any tick.
TEST(Summary, CountsChildrenThatNoSampleSaw) {
  Recorder recorder;
  // 20 children of 65 ms, reaped one after the other between the edges; no tick at all. The
  // sampler sees them in 10 ms steps in the root's part, the marks exactly.
  recorder.add(cell_begin(kStart, kStart + kMs, marks(kSecond, 2 * kSecond)));
  recorder.edge(kStart + kMs, {{"process.cpu_time_ns", 3000 * kMs + 400'000},
                               {"process.root_cpu_time_ns", 3000 * kMs + 400'000}});
  recorder.add(cell_end(kStart + 2 * kSecond, kStart + 2001 * kMs, marks(1100 * kMs, 3307 * kMs)));
  recorder.edge(kStart + 2001 * kMs, {{"process.cpu_time_ns", 4400 * kMs + 900'000},
                                      {"process.root_cpu_time_ns", 4400 * kMs + 900'000}});
  const CellSummary summary = summary_of(recorder.open());
  const LevelSummary& process = level_of(summary, "process");
  EXPECT_DOUBLE_EQ(*process.cpu_time_s, 0.1 + 1.307);
  EXPECT_DOUBLE_EQ(*process.cpu_percent.mean, 1.407 / 4 * 100);
  EXPECT_FALSE(process.cpu_percent.max);
  EXPECT_EQ(summary.unknown.at("process.cpu_percent"), "not yet: no tick fell into this cell");
  EXPECT_EQ(summary.ticks, 0);
  EXPECT_TRUE(summary.notes.empty());
}

TEST(Summary, CountsLivingChildrenFromTheSamples) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart + 10 * kMs, marks(1000 * kMs)));
  // At the begin's sample the kernel has used 5 ms more than at the mark, a child has used 300 ms.
  recorder.edge(kStart + 10 * kMs, {{"process.cpu_time_ns", 1305 * kMs},
                                    {"process.root_cpu_time_ns", 1005 * kMs},
                                    {"process.processes", 2}});
  recorder.row(kStart + 500 * kMs,
               {{"process.cpu_time_ns", 1800 * kMs}, {"process.root_cpu_time_ns", 1010 * kMs}});
  recorder.add(cell_end(kStart + kSecond, kStart + 1010 * kMs, marks(1020 * kMs)));
  recorder.edge(kStart + 1010 * kMs,
                {{"process.cpu_time_ns", 2325 * kMs}, {"process.root_cpu_time_ns", 1025 * kMs}});
  const CellSummary summary = summary_of(recorder.open());
  // Kernel: 20 ms; child: 1300 - 300.
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_time_s, 1.02);
  EXPECT_EQ(level_of(summary, "process").processes_max, 2);
  EXPECT_TRUE(summary.notes.empty());
}

TEST(Summary, DoesNotLoseAChildThatIsReapedBetweenMarkAndSample) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart + kMs, marks(1000 * kMs)));
  recorder.edge(kStart + kMs, {{"process.cpu_time_ns", 1000 * kMs},
                               {"process.root_cpu_time_ns", 1000 * kMs},
                               {"process.processes", 2}});
  // The mark doesn't have the child's 800 ms, the sample has them in the root's part.
  recorder.add(cell_end(kStart + kSecond, kStart + 1001 * kMs, marks(1010 * kMs)));
  recorder.edge(kStart + 1001 * kMs,
                {{"process.cpu_time_ns", 1810 * kMs}, {"process.root_cpu_time_ns", 1810 * kMs}});
  EXPECT_DOUBLE_EQ(*level_of(summary_of(recorder.open()), "process").cpu_time_s, 0.81);
}

TEST(Summary, CountsBytesFromTheMarks) {
  Recorder recorder;
  record::EdgeCounters begin = marks(0);
  begin.io_write_bytes = 1000;
  begin.io_write_ops = 10;
  begin.storage_write_bytes = 4096;
  record::EdgeCounters end = begin;
  end.io_write_bytes = 51'000;
  end.io_write_ops = 12;
  end.storage_write_bytes = 8192;
  recorder.add(cell_begin(kStart, kStart + kMs, begin));
  // The kernel has written 300 more by the samples; a child 7 before and 5007 at the end.
  recorder.edge(kStart + kMs, {{"process.io_write_bytes", 1307},
                               {"process.root_io_write_bytes", 1300},
                               {"process.io_write_ops", 10},
                               {"process.root_io_write_ops", 10},
                               {"process.storage_write_bytes", 4096},
                               {"process.root_storage_write_bytes", 4096}});
  recorder.add(cell_end(kStart + kSecond, kStart + 1001 * kMs, end));
  recorder.edge(kStart + 1001 * kMs, {{"process.io_write_bytes", 56'307},
                                      {"process.root_io_write_bytes", 51'300},
                                      {"process.io_write_ops", 13},
                                      {"process.root_io_write_ops", 12},
                                      {"process.storage_write_bytes", 8192},
                                      {"process.root_storage_write_bytes", 8192}});
  const CellSummary summary = summary_of(recorder.open());
  const LevelSummary& process = level_of(summary, "process");
  EXPECT_EQ(process.io_write_bytes, 55'000);
  EXPECT_EQ(process.io_write_ops, 3);
  EXPECT_EQ(process.storage_write_bytes, 4096);
  EXPECT_EQ(process.io_read_bytes, 0);
}

TEST(Summary, UsesTheSamplesAloneWhereTheMarksAreUnknown) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart + 10 * kMs, record::EdgeCounters{}));
  recorder.edge(kStart + 10 * kMs, {{"process.cpu_time_ns", 1000 * kMs}});
  recorder.row(kStart + 500 * kMs, {{"process.cpu_time_ns", 1500 * kMs}});
  recorder.add(cell_end(kStart + kSecond, kStart + 1010 * kMs, record::EdgeCounters{}));
  recorder.edge(kStart + 1010 * kMs, {{"process.cpu_time_ns", 2000 * kMs}});
  const LevelSummary process = level_of(summary_of(recorder.open()), "process");
  EXPECT_DOUBLE_EQ(*process.cpu_time_s, 1.0);
  EXPECT_DOUBLE_EQ(*process.cpu_percent.mean, 50.0);
  EXPECT_TRUE(process.memory_bytes.peak_lower_bound);
}

TEST(Summary, WithoutASamplerHasTheMarksAndSaysSo) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, 0, marks(1000 * kMs, 500 * kMs, 70 * kMiB)));
  recorder.add(cell_end(kStart + kSecond, 0, marks(1900 * kMs, 1500 * kMs, 90 * kMiB)));
  const CellSummary summary = summary_of(recorder.open());
  const LevelSummary& process = level_of(summary, "process");
  EXPECT_DOUBLE_EQ(*process.cpu_time_s, 1.9);
  EXPECT_DOUBLE_EQ(*process.cpu_percent.mean, 95.0);
  EXPECT_EQ(process.memory_bytes.peak, 90 * kMiB);
  EXPECT_TRUE(process.memory_bytes.peak_lower_bound);
  EXPECT_FALSE(process.memory_bytes.mean);
  EXPECT_EQ(summary.notes.at("process"),
            "lower bound: only the kernel process and the children it waited for were seen");
  EXPECT_EQ(summary.unknown.at("process.memory_bytes"), "not yet: no sample in this cell has it");
  EXPECT_EQ(summary.unknown.at("process.processes"), "not yet: no sample in this cell has it");
  const LevelSummary& node = level_of(summary, "node");
  EXPECT_FALSE(node.cpu_time_s);  // the marks say nothing about the node
  EXPECT_EQ(summary.unknown.at("node.cpu_time_s"), "not yet: no sample in this cell has it");
  EXPECT_EQ(summary.unknown.at("node.storage_read_bytes"),
            "not yet: no sample in this cell has it");
}

TEST(Summary, IsALowerBoundWhenTheEdgeSampleCameTooLate) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart + 80 * kMs, marks(0)));
  // 80 ms late: the child has used 40 ms by then, nobody knows how much of it before the cell.
  recorder.edge(kStart + 80 * kMs, {{"process.cpu_time_ns", 40 * kMs},
                                    {"process.root_cpu_time_ns", 0},
                                    {"process.processes", 2}});
  recorder.row(kStart + 900 * kMs, {{"process.cpu_time_ns", 440 * kMs}});
  recorder.add(cell_end(kStart + kSecond, kStart + 1200 * kMs, marks(0)));
  recorder.row(kStart + 1200 * kMs, {{"process.cpu_time_ns", 600 * kMs}});
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_time_s, 0.4);
  EXPECT_EQ(summary.notes.at("process"),
            "lower bound: there is no sample at the begin of the cell");
  EXPECT_DOUBLE_EQ(*summary.sample_age_s, 0.1);
  EXPECT_FALSE(level_of(summary, "process").memory_bytes.begin);
  EXPECT_EQ(summary.unknown.at("process.memory_bytes"),
            "not yet: there is no sample at the begin of the cell");
  EXPECT_DOUBLE_EQ(*level_of(summary, "node").cpu_time_s, 0.0);
  EXPECT_TRUE(summary.notes.contains("node"));
}

TEST(Summary, IsExactWithoutEdgeSamplesWhenTheKernelIsAlone) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, 0, marks(0)));
  recorder.row(kStart + 80 * kMs,
               {{"process.cpu_time_ns", 70 * kMs}, {"process.root_cpu_time_ns", 70 * kMs}});
  recorder.row(kStart + 900 * kMs,
               {{"process.cpu_time_ns", 880 * kMs}, {"process.root_cpu_time_ns", 880 * kMs}});
  recorder.add(cell_end(kStart + kSecond, 0, marks(970 * kMs)));
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_time_s, 0.97);
  EXPECT_FALSE(summary.notes.contains("process"));
}

// Fault: P5
TEST(Summary, CountsNoChildTwiceThatWasWaitedForAfterTheLastSample) {
  Recorder recorder;
  recorder.edge(kStart, {{"process.cpu_time_ns", 0}, {"process.root_cpu_time_ns", 0}});
  recorder.add(cell_begin(kStart, kStart, marks(0)));
  // Two children with 500 ms each, one is waited for; then no sample before the other is, too.
  recorder.row(kStart + 700 * kMs, {{"process.cpu_time_ns", 1100 * kMs},
                                    {"process.root_cpu_time_ns", 600 * kMs},
                                    {"process.io_write_bytes", 9 * kMiB},
                                    {"process.root_io_write_bytes", 4 * kMiB}});
  record::EdgeCounters end = marks(120 * kMs, 1010 * kMs);
  end.io_write_bytes = 9 * kMiB;
  recorder.add(cell_end(kStart + 800 * kMs, kStart + kSecond, end));
  recorder.row(kStart + kSecond,
               {{"process.cpu_time_ns", 1130 * kMs}, {"process.root_cpu_time_ns", 1130 * kMs}});
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_time_s, 1.13);
  EXPECT_EQ(level_of(summary, "process").io_write_bytes, 9 * kMiB);
}

// Fault: P5
TEST(Summary, CountsNothingOfBeforeTheCellWhereTheFirstSampleComesAfterAWait) {
  Recorder recorder;
  recorder.row(kStart - 200 * kMs, {{"process.cpu_time_ns", 0}, {"process.root_cpu_time_ns", 0}});
  recorder.add(cell_begin(kStart, kStart + 300 * kMs, marks(0)));
  // What the child had used before the cell is unknown by now.
  recorder.row(kStart + 300 * kMs,
               {{"process.cpu_time_ns", 1000 * kMs}, {"process.root_cpu_time_ns", 1000 * kMs}});
  recorder.edge(kStart + kSecond,
                {{"process.cpu_time_ns", 1400 * kMs}, {"process.root_cpu_time_ns", 1400 * kMs}});
  recorder.add(cell_end(kStart + kSecond, kStart + kSecond, marks(400 * kMs, 1000 * kMs)));
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_time_s, 0.4);
}

TEST(Summary, TakesANearTickWhereTheEdgeSampleIsMissing) {
  Recorder recorder;
  recorder.row(kStart - 30 * kMs, {{"node.cpu_time_ns", 1000 * kMs}});
  recorder.add(cell_begin(kStart, 0, marks(0)));
  recorder.row(kStart + 70 * kMs, {{"node.cpu_time_ns", 1400 * kMs}});
  recorder.row(kStart + 970 * kMs, {{"node.cpu_time_ns", 5000 * kMs}});
  recorder.add(cell_end(kStart + kSecond, 0, marks(0)));
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_DOUBLE_EQ(*level_of(summary, "node").cpu_time_s, 4.0);
  EXPECT_DOUBLE_EQ(*level_of(summary, "node").cpu_percent.mean, 50.0);
  EXPECT_EQ(summary.ticks, 2);
  EXPECT_TRUE(summary.notes.empty());
}

TEST(Summary, OfARunningCellGoesToTheLastSample) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart + kMs, marks(0)));
  recorder.edge(kStart + kMs);
  recorder.row(kStart + 500 * kMs,
               {{"process.cpu_time_ns", 500 * kMs}, {"process.root_cpu_time_ns", 500 * kMs}});
  recorder.row(kStart + 600 * kMs,
               {{"process.cpu_time_ns", 600 * kMs}, {"process.root_cpu_time_ns", 600 * kMs}});
  const CellSummary summary = summary_of(recorder.follow());
  EXPECT_TRUE(summary.running);
  EXPECT_DOUBLE_EQ(summary.duration_s, 0.6);
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_time_s, 0.6);
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_percent.mean, 50.0);
  EXPECT_EQ(summary.ticks, 2);
  EXPECT_TRUE(summary.notes.empty());
}

TEST(Summary, OfACellThatHasJustBegunKnowsNothingYet) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, 0, marks(0)));
  const CellSummary summary = summary_of(recorder.follow());
  EXPECT_TRUE(summary.running);
  EXPECT_DOUBLE_EQ(summary.duration_s, 0.0);
  EXPECT_FALSE(level_of(summary, "process").cpu_time_s);
  EXPECT_EQ(summary.unknown.at("process.cpu_time_s"), "not yet: no sample in this cell has it");
}

TEST(Summary, OfADeathEndsWithTheRecording) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart + kMs, marks(0)));
  recorder.edge(kStart + kMs);
  recorder.row(kStart + 500 * kMs, {{"process.cpu_time_ns", 400 * kMs}});
  recorder.add(record::End{kStart + 600 * kMs, record::EndCause::kKilled, 9});
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_EQ(summary.outcome, record::Outcome::kDied);
  EXPECT_EQ(summary.outcome_text, "killed by signal 9 (SIGKILL)");
  EXPECT_FALSE(summary.running);
  EXPECT_DOUBLE_EQ(summary.duration_s, 0.6);
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_time_s, 0.4);
  EXPECT_EQ(summary.notes.at("process"),
            "lower bound: the time after the last sample is not in it");
  EXPECT_DOUBLE_EQ(*summary.sample_age_s, 0.1);
}

TEST(Summary, OfADeathThatNobodyRecordedSaysProbably) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart + kMs, marks(0)));
  recorder.edge(kStart + kMs);
  recorder.row(kStart + 500 * kMs);
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_EQ(summary.outcome, record::Outcome::kDied);
  EXPECT_EQ(summary.outcome_text, "probably killed together with its sampler");
  EXPECT_DOUBLE_EQ(summary.duration_s, 0.5);
}

TEST(Summary, ClampsWhatJitterMakesLargerThanTheCapacity) {
  Recorder recorder;
  steady_cell(recorder, 230);
  const LevelSummary process = level_of(summary_of(recorder.open()), "process");
  EXPECT_DOUBLE_EQ(*process.cpu_time_s, 2.3);
  EXPECT_DOUBLE_EQ(*process.cpu_percent.mean, 100.0);
  EXPECT_DOUBLE_EQ(*process.cpu_percent.max, 100.0);
}

// case 61: counters that go backwards, hours without a sample.
TEST(Summary, BooksNothingForACounterThatFell) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart, marks(0)));
  recorder.edge(kStart, {{"node.cpu_time_ns", 62'218 * kMs}});
  recorder.row(kStart + 100 * kMs, {{"node.cpu_time_ns", 62'618 * kMs}});  // 50 %
  recorder.row(kStart + 200 * kMs, {{"node.cpu_time_ns", 58'733 * kMs}});  // began anew
  recorder.row(kStart + 300 * kMs, {{"node.cpu_time_ns", 58'933 * kMs}});  // 25 %
  recorder.add(cell_end(kStart + 400 * kMs, kStart + 400 * kMs, marks(0)));
  recorder.edge(kStart + 400 * kMs, {{"node.cpu_time_ns", 59'133 * kMs}});  // 25 %
  const CellSummary summary = summary_of(recorder.open());
  const LevelSummary& node = level_of(summary, "node");
  EXPECT_DOUBLE_EQ(*node.cpu_time_s, 0.8);
  EXPECT_DOUBLE_EQ(*node.cpu_percent.max, 50.0);
  EXPECT_DOUBLE_EQ(*node.cpu_percent.min, 25.0);
  EXPECT_EQ(summary.notes.at("node.cpu_time_s"), "lower bound: the counter went backwards");
}

TEST(Summary, IsNeverNegativeWhenAProcessLeavesTheTree) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart, marks(0)));
  recorder.edge(kStart, {{"process.cpu_time_ns", 9000 * kMs}, {"process.processes", 2}});
  recorder.add(cell_end(kStart + kSecond, kStart + kSecond, marks(100 * kMs)));
  recorder.edge(kStart + kSecond, {{"process.cpu_time_ns", 100 * kMs},
                                   {"process.root_cpu_time_ns", 100 * kMs},
                                   {"process.processes", 1}});
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_time_s, 0.0);
  EXPECT_EQ(summary.notes.at("process.cpu_time_s"), "lower bound: the counter went backwards");
}

TEST(Summary, TellsNoRateAcrossAGap) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart, marks(0)));
  recorder.edge(kStart, {{"process.cpu_time_ns", 0}});
  recorder.row(kStart + 100 * kMs, {{"process.cpu_time_ns", 100 * kMs}});
  recorder.add(gap(kStart + 100 * kMs, kStart + 300 * kMs));
  recorder.row(kStart + 300 * kMs, {{"process.cpu_time_ns", 500 * kMs}});
  recorder.row(kStart + 400 * kMs, {{"process.cpu_time_ns", 560 * kMs}});
  // Two hours later, and nobody says why.
  recorder.row(kStart + 7200 * kSecond, {{"process.cpu_time_ns", 561 * kMs}});
  recorder.row(kStart + 7200 * kSecond + 100 * kMs, {{"process.cpu_time_ns", 621 * kMs}});
  recorder.add(
      cell_end(kStart + 7200 * kSecond + 100 * kMs, kStart + 7200 * kSecond + 101 * kMs, marks(0)));
  recorder.edge(kStart + 7200 * kSecond + 101 * kMs, {{"process.cpu_time_ns", 621 * kMs}});
  const CellSummary summary = summary_of(recorder.open());
  const LevelSummary& process = level_of(summary, "process");
  EXPECT_DOUBLE_EQ(*process.cpu_percent.max, 50.0);
  EXPECT_NEAR(*process.cpu_percent.min, 60.0 / 202 * 100, 1e-9);  // 60 ms in 101 ms
  ASSERT_EQ(summary.gaps.size(), 1U);
  EXPECT_DOUBLE_EQ(summary.gaps[0].begin_s, 0.1);
  EXPECT_DOUBLE_EQ(summary.gaps[0].end_s, 0.3);
  EXPECT_EQ(summary.gaps[0].reason, "the sampler was stopped or starved");
}

TEST(Summary, WeighsTheCapacityWhenItChanges) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart, marks(0)));
  recorder.edge(kStart, {{"process.capacity_millicores", 4000}});
  recorder.row(kStart + 500 * kMs, {{"process.capacity_millicores", 2000}});
  recorder.add(cell_end(kStart + kSecond, kStart + kSecond, marks(1500 * kMs)));
  recorder.edge(kStart + kSecond,
                {{"process.cpu_time_ns", 1500 * kMs}, {"process.root_cpu_time_ns", 1500 * kMs}});
  const LevelSummary process = level_of(summary_of(recorder.open()), "process");
  EXPECT_DOUBLE_EQ(*process.capacity_cores, 3.0);
  EXPECT_DOUBLE_EQ(*process.cpu_percent.mean, 50.0);
}

TEST(Summary, TakesTheMachinesCapacityWhereNoColumnHasIt) {
  Recorder recorder({"process.cpu_time_ns", "process.root_cpu_time_ns", "node.cpu_time_ns"});
  steady_cell(recorder, 100);
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").capacity_cores, 2.0);  // its affinity
  EXPECT_DOUBLE_EQ(*level_of(summary, "node").capacity_cores, 8.0);
  EXPECT_EQ(level_of(summary, "node").capacity_memory_bytes, 1024 * kMiB);
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_percent.mean, 50.0);
  EXPECT_EQ(summary.unknown.at("process.memory_bytes"), "not supported: it is not recorded here");
}

TEST(Summary, LeavesOutALevelThatIsNotRecorded) {
  Recorder recorder(process_columns());
  steady_cell(recorder, 100);
  const CellSummary summary = summary_of(recorder.open());
  ASSERT_EQ(summary.levels.size(), 1U);
  EXPECT_EQ(summary.levels[0].name, "process");
  Recorder node_only(node_columns());
  steady_cell(node_only, 100);
  ASSERT_EQ(summary_of(node_only.open()).levels.size(), 1U);
}

TEST(Summary, NamesTheStateOfWhatNoSampleHas) {
  Recorder recorder;
  recorder.set({{"process.storage_read_bytes", record::unknown(record::State::kNotPermitted)},
                {"process.memory_bytes", record::unknown(record::State::kVanished)}});
  recorder.add(cell_begin(kStart, kStart, record::EdgeCounters{}));
  recorder.edge(kStart);
  recorder.add(cell_end(kStart + kSecond, kStart + kSecond, record::EdgeCounters{}));
  recorder.edge(kStart + kSecond);
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_FALSE(level_of(summary, "process").storage_read_bytes);
  EXPECT_TRUE(summary.unknown.at("process.storage_read_bytes").starts_with("not permitted: "));
  EXPECT_TRUE(summary.unknown.at("process.memory_bytes").starts_with("vanished: "));
}

TEST(Summary, OfACellWithinOneSampleHasTheMarks) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart + kMs, marks(10 * kMs)));
  recorder.add(cell_end(kStart + 300'000, kStart + kMs, marks(10 * kMs + 250'000)));
  recorder.edge(kStart + kMs,
                {{"process.cpu_time_ns", 11 * kMs}, {"process.root_cpu_time_ns", 11 * kMs}});
  const CellSummary summary = summary_of(recorder.open());
  EXPECT_DOUBLE_EQ(*level_of(summary, "process").cpu_time_s, 0.00025);
  EXPECT_FALSE(level_of(summary, "node").cpu_time_s);
  EXPECT_EQ(summary.unknown.at("node.cpu_time_s"),
            "not yet: there is no sample at both edges of the cell");
  EXPECT_TRUE(summary.notes.empty());
}

TEST(Summary, GivesEveryMissingFigureAReason) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, 0, record::EdgeCounters{}));
  recorder.add(cell_end(kStart + kSecond, 0, record::EdgeCounters{}));
  const CellSummary summary = summary_of(recorder.open());
  for (const std::string level : {"process", "node"}) {
    for (const std::string metric :
         {"cpu_percent", "cpu_time_s", "memory_bytes", "io_read_bytes", "io_write_bytes",
          "io_read_ops", "io_write_ops", "storage_read_bytes", "storage_write_bytes", "processes",
          "threads"}) {
      EXPECT_TRUE(summary.unknown.contains(level + "." + metric)) << level << '.' << metric;
    }
  }
}

}  // namespace
}  // namespace store
