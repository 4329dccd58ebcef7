#include "store/ending.hpp"

#include <gtest/gtest.h>

#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

// The recorder's machine, in the same boot or after another one.
const ThisMachine kSameBoot{"made-up", "no boot of this machine"};
const ThisMachine kLaterBoot{"made-up", "a later boot"};

std::vector<std::string> with_job() {
  std::vector<std::string> columns = both_levels();
  for (const char* name : {"job.memory_bytes", "job.memory_anonymous_bytes",
                           "job.capacity_memory_bytes", "job.oom_kills"}) {
    columns.push_back(name);
  }
  return columns;
}

// A cell that nobody ended, with a row each tenth of a second; `last` is in the last one. The
// limit is 512 MiB, the node has 1024.
Recorder died_with(const Values& last) {
  Recorder recorder(with_job());
  recorder.set({{"process.memory_bytes", 100 * kMiB},
                {"process.memory_is_upper_bound", 0},
                {"process.capacity_memory_bytes", 512 * kMiB},
                {"job.memory_bytes", 500 * kMiB},  // with page cache
                {"job.memory_anonymous_bytes", 110 * kMiB},
                {"job.capacity_memory_bytes", 512 * kMiB},
                {"job.oom_kills", 4}});
  recorder.add(cell_begin(kStart, kStart));
  recorder.edge(kStart);
  for (int i = 1; i < 50; ++i) recorder.row(kStart + i * 100 * kMs);
  recorder.row(kStart + 5 * kSecond, last);
  return recorder;
}

TEST(Ending, IsWhatTheEndRecordSays) {
  Recorder recorder = died_with({});
  record::End end{kStart + 6 * kSecond, record::EndCause::kOutOfMemory, 0};
  end.memory_peak_bytes = 511 * kMiB;
  end.memory_limit_bytes = 512 * kMiB;
  recorder.add(end);
  const Recording recording = recorder.open();
  const Ending ending = ending_of(recording, kLaterBoot);
  EXPECT_EQ(ending.kind, Ending::Kind::kOutOfMemory);
  EXPECT_FALSE(ending.probably);
  EXPECT_EQ(ending.text, "killed by the memory limit (peak 511 MiB of 512 MiB)");
  EXPECT_EQ(ending.time_ns, kStart + 6 * kSecond);
  ASSERT_NE(ending.cell, nullptr);
  EXPECT_EQ(ending.cell->begin.index, 1);
}

TEST(Ending, OfWhatIsStillWrittenIsNone) {
  const Recording recording = died_with({}).follow();
  const Ending ending = ending_of(recording, kLaterBoot);
  EXPECT_EQ(ending.kind, Ending::Kind::kRunning);
  EXPECT_EQ(ending.text, "");
}

struct Case {
  Values last;
  ThisMachine here;
  Ending::Kind kind;
  std::string text;
};

TEST(Ending, IsConcludedFromTheLastRows) {
  const Case cases[] = {
      {{}, kSameBoot, Ending::Kind::kKilled, "probably killed together with its sampler"},
      {{}, kLaterBoot, Ending::Kind::kRebooted, "probably: the machine was restarted"},
      {{}, {"another", "boot"}, Ending::Kind::kKilled, "probably killed together with its sampler"},
      {{}, {"made-up", ""}, Ending::Kind::kKilled, "probably killed together with its sampler"},
      {{{"job.memory_anonymous_bytes", 505 * kMiB}},
       kLaterBoot,
       Ending::Kind::kOutOfMemory,
       "probably killed by the memory limit (last seen 505 MiB of 512 MiB)"},
      {{{"process.memory_bytes", 470 * kMiB}},
       kSameBoot,
       Ending::Kind::kOutOfMemory,
       "probably killed by the memory limit (last seen 470 MiB of 512 MiB)"},
      {{{"process.memory_bytes", 440 * kMiB}},
       kSameBoot,
       Ending::Kind::kKilled,
       "probably killed together with its sampler"},
      // Forked workers whose pages are the same ones.
      {{{"process.memory_bytes", 5000 * kMiB},
        {"process.memory_is_upper_bound", 1},
        {"process.processes", 20}},
       kSameBoot,
       Ending::Kind::kKilled,
       "probably killed together with its sampler"},
      {{{"job.oom_kills", 5}},
       kSameBoot,
       Ending::Kind::kOutOfMemory,
       "probably killed by the memory limit (last seen 110 MiB of 512 MiB)"},
      // No limit but the node's memory: then a reboot explains as much.
      {{{"process.memory_bytes", 1000 * kMiB},
        {"process.capacity_memory_bytes", 1024 * kMiB},
        {"job.capacity_memory_bytes", 1024 * kMiB}},
       kSameBoot,
       Ending::Kind::kOutOfMemory,
       "probably killed because the machine was out of memory (last seen 1000 MiB of 1024 MiB)"},
      {{{"process.memory_bytes", 1000 * kMiB},
        {"process.capacity_memory_bytes", 1024 * kMiB},
        {"job.capacity_memory_bytes", 1024 * kMiB}},
       kLaterBoot,
       Ending::Kind::kRebooted,
       "probably: the machine was restarted"},
  };
  for (const Case& one : cases) {
    const Recording recording = died_with(one.last).open();
    const Ending ending = ending_of(recording, one.here);
    EXPECT_EQ(ending.text, one.text);
    EXPECT_EQ(ending.kind, one.kind) << one.text;
    EXPECT_TRUE(ending.probably);
    EXPECT_EQ(ending.time_ns, kStart + 5 * kSecond);
  }
}

TEST(Ending, WithoutARowOrAMachineIsSaidAllTheSame) {
  const Recording recording = Recorder().open();
  EXPECT_EQ(ending_of(recording, kSameBoot).text, "probably killed together with its sampler");
}

TEST(Ending, ForgetsKillsOfLongAgo) {
  Recorder recorder = died_with({{"job.oom_kills", 5}});
  for (int i = 1; i < 50; ++i) recorder.row(kStart + 5 * kSecond + i * 100 * kMs);
  const Recording recording = recorder.open();
  EXPECT_EQ(ending_of(recording, kSameBoot).kind, Ending::Kind::kKilled);
}

TEST(Ending, IsTheOutcomeOfTheCellThatRan) {
  const Recording recording = died_with({{"job.memory_anonymous_bytes", 505 * kMiB}}).open();
  const CellSummary summary = summary_of(recording);
  EXPECT_EQ(summary.outcome, record::Outcome::kDied);
  EXPECT_EQ(summary.outcome_text,
            "probably killed by the memory limit (last seen 505 MiB of 512 MiB)");
}

}  // namespace
}  // namespace store
