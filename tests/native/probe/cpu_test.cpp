#include "probe/cpu.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host_tree.hpp"

namespace probe {
namespace {

constexpr record::Value kVanished = record::unknown(record::State::kVanished);

TEST(Stat, AddsWhatACoreWasBusyWithAndGuestTimeOnce) {
  std::vector<record::Value> cores(2);
  const auto stat = parse_stat(
      "cpu  5494 7 1934 106696 380 11 67 27 1000 3\n"
      "cpu0 2122 0 815 54315 56 0 7 7 0 0\n"
      "cpu1 3371 7 1119 52380 323 11 59 20 1000 3\n"
      "intr 1 2\nctxt 345100\nbtime 5\nprocesses 5854\nprocs_running 4\nprocs_blocked 9\n",
      cores);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->busy_ticks, 5494 + 7 + 1934 + 11 + 67 + 27);
  EXPECT_EQ(cores,
            (std::vector<record::Value>{2122 + 815 + 7 + 7, 3371 + 7 + 1119 + 11 + 59 + 20}));
  EXPECT_EQ(stat->forks, 5854);
  EXPECT_EQ(stat->steal_ticks, 27);
  EXPECT_EQ(stat->context_switches, 345100);
  EXPECT_EQ(stat->threads_running, 4);
}

TEST(Stat, LeavesThePlaceOfAnOfflineCoreVanished) {
  std::vector<record::Value> cores(4, 1);
  ASSERT_TRUE(parse_stat(HostTree::stat_text(4, 2), cores));
  EXPECT_EQ(cores, (std::vector<record::Value>{100, 100, kVanished, 100}));
}

TEST(Stat, ReadsAThousandCores) {
  std::vector<record::Value> cores(1024);
  const auto stat = parse_stat(HostTree::stat_text(1024), cores);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->busy_ticks, 102'400);
  EXPECT_EQ(cores, std::vector<record::Value>(1024, 100));
}

TEST(Stat, LeavesOutCoresThatHaveNoPlace) {
  std::vector<record::Value> cores(1);
  ASSERT_TRUE(parse_stat(HostTree::stat_text(128), cores));
  EXPECT_EQ(cores, std::vector<record::Value>(1, 100));
}

TEST(Stat, TakesTheShortLinesOfOldKernels) {
  const auto stat = parse_stat("cpu 1 2 3 4\n", {});
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->busy_ticks, 6);
  EXPECT_FALSE(stat->forks);
  constexpr record::Value kNone = record::unknown(record::State::kNotSupported);
  EXPECT_EQ(stat->steal_ticks, kNone);
  EXPECT_EQ(stat->context_switches, kNone);
  EXPECT_EQ(stat->threads_running, kNone);
}

TEST(Stat, RefusesWhatIsNoStat) {
  std::vector<record::Value> cores(2);
  EXPECT_FALSE(parse_stat("", cores));
  EXPECT_FALSE(parse_stat("cpu  one two three\n", cores));
  EXPECT_FALSE(parse_stat("cpu  -1 2 3 4\n", cores));
  EXPECT_FALSE(parse_stat("cpu  99999999999999999999999 2 3 4\n", cores));
  EXPECT_TRUE(parse_stat("cpu  1 2 3 4\ncpu99999999999 1 2 3 4\ncpuX 1 2 3 4\ncpu\n", cores));
}

}  // namespace
}  // namespace probe
