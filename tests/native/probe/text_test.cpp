// The short parsers: meminfo, smaps_rollup, vmstat, loadavg, lists of cores, children.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "probe/children.hpp"
#include "probe/cores.hpp"
#include "probe/load.hpp"
#include "probe/memory.hpp"
#include "probe/storage.hpp"

namespace probe {
namespace {

TEST(MemoryInfo, ReadsTotalAndAvailable) {
  const auto memory = parse_meminfo(
      "MemTotal:       24684084 kB\nMemFree:        24509736 kB\nMemAvailable:   24428680 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total_bytes, 24684084LL * 1024);
  EXPECT_EQ(memory->available_bytes, 24428680LL * 1024);
}

TEST(MemoryInfo, HasNoAvailableOnOldKernelsAndNothingWithoutATotal) {
  const auto memory = parse_meminfo("MemTotal: 100 kB\nMemFree: 50 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_FALSE(memory->available_bytes);
  EXPECT_FALSE(parse_meminfo("MemTotal:\nMemAvailable: 1 kB\n"));
  EXPECT_FALSE(parse_meminfo("MemTotal: 9999999999999999999 kB\n"));
  EXPECT_FALSE(parse_meminfo(""));
}

TEST(MemorySizes, ReadsRssAndPssAndNotTheirParts) {
  const auto sizes = parse_smaps_rollup(
      "55a3c8265000-7ffda3ee7000 ---p 00000000 00:00 0                          [rollup]\n"
      "Rss:                1736 kB\nPss:                 545 kB\nPss_Dirty:           116 kB\n");
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->resident_bytes, 1736 * 1024);
  EXPECT_EQ(sizes->proportional_bytes, 545 * 1024);
  EXPECT_FALSE(parse_smaps_rollup("Rss: 1 kB\nPss_Dirty: 1 kB\n"));
}

TEST(Storage, ReadsKibibytesThatWereRequested) {
  const auto storage =
      parse_vmstat("nr_free_pages 1\npgpgin 1176885\npgpgout 934876\npgpgoutrun 3\n");
  EXPECT_EQ(storage.read_bytes, 1176885LL * 1024);
  EXPECT_EQ(storage.write_bytes, 934876LL * 1024);
}

TEST(Storage, LeavesOutWhatIsNotThere) {
  const auto storage = parse_vmstat("pgpgin 1\npgpgout\n");
  EXPECT_EQ(storage.read_bytes, 1024);
  EXPECT_FALSE(storage.write_bytes);
  EXPECT_FALSE(parse_vmstat("").read_bytes);
}

TEST(Load, ReadsTheThreadsBehindTheSlash) {
  EXPECT_EQ(parse_loadavg("0.01 0.11 0.07 1/82 5854\n"), 82);
  EXPECT_FALSE(parse_loadavg("0.01 0.11 0.07 1 5854\n"));
  EXPECT_FALSE(parse_loadavg("0.01 0.11 0.07 1/ 5854\n"));
  EXPECT_FALSE(parse_loadavg(""));
}

TEST(Cores, ReadsRangesAndSingleNumbers) {
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(parse_core_list("0-3,8,10-11\n"), (Numbers{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_core_list("5\n"), (Numbers{5}));
  EXPECT_EQ(parse_core_list("\n"), Numbers{});
}

TEST(Cores, StaysBoundedWhateverTheListHolds) {
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(parse_core_list("0-99999999999"), Numbers{});
  EXPECT_EQ(parse_core_list("3-1,x,-,,2-2"), (Numbers{2}));
  EXPECT_EQ(parse_core_list("4-5,0-5,5"), (Numbers{4, 5}));
  std::string often;
  for (int i = 0; i < 1000; ++i) often += "0-8191,";
  EXPECT_EQ(parse_core_list(often).size(), 8192U);
}

TEST(Children, ReadsEveryPid) {
  const auto pids_of = [](std::string_view text) {
    std::vector<pid_t> pids;
    parse_children(text, [&](pid_t pid) { pids.push_back(pid); });
    return pids;
  };
  EXPECT_EQ(pids_of("5860 5861 5877 "), (std::vector<pid_t>{5860, 5861, 5877}));
  EXPECT_EQ(pids_of(""), std::vector<pid_t>{});
  EXPECT_EQ(pids_of("12 x -3 0 99999999999 7\n"), (std::vector<pid_t>{12, 7}));
}

}  // namespace
}  // namespace probe
