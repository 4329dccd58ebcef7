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

TEST(MemoryInfo, ReadsCacheAndSwap) {
  const auto memory = parse_meminfo(
      "MemTotal: 100000 kB\nBuffers: 31100 kB\nCached: 2871408 kB\nSwapCached: 5 kB\n"
      "SwapTotal: 4000 kB\nSwapFree: 1500 kB\nShmem: 8872 kB\nSReclaimable: 227916 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->cache_bytes, (31100 + 2871408 + 227916 - 8872) * 1024LL);
  EXPECT_EQ(memory->swap_total_bytes, 4000 * 1024);
  EXPECT_EQ(memory->swap_used_bytes, 2500 * 1024);
}

TEST(MemoryInfo, IsNeverNegativeAndUnknownWhereAPartIsMissing) {
  constexpr record::Value kNone = record::unknown(record::State::kNotSupported);
  const auto odd =
      parse_meminfo("MemTotal: 1 kB\nCached: 5 kB\nShmem: 9 kB\nSwapTotal: 1 kB\nSwapFree: 2 kB\n");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->cache_bytes, 0);
  EXPECT_EQ(odd->swap_used_bytes, 0);
  const auto none = parse_meminfo("MemTotal: 1 kB\nCached: 5 kB\n");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->cache_bytes, kNone);
  EXPECT_EQ(none->swap_total_bytes, kNone);
  EXPECT_EQ(none->swap_used_bytes, kNone);
}

TEST(Vmstat, ReadsWhatIsOursAndNotWhatBeginsLikeIt) {
  const auto vmstat = parse_vmstat(
      "nr_free_pages 1\npgpgin 1176885\npgpgout 934876\npgpgoutrun 3\npswpin 4\npswpout 5\n"
      "pgfault 348752480\npgmajfault 152972\npgfault 1\n");
  EXPECT_EQ(vmstat.read_bytes, 1176885LL * 1024);
  EXPECT_EQ(vmstat.write_bytes, 934876LL * 1024);
  EXPECT_EQ(vmstat.swap_in_pages, 4);
  EXPECT_EQ(vmstat.swap_out_pages, 5);
  EXPECT_EQ(vmstat.page_faults, 348752480);
  EXPECT_EQ(vmstat.major_page_faults, 152972);
}

TEST(Vmstat, LeavesOutWhatIsNotThere) {
  constexpr record::Value kNone = record::unknown(record::State::kNotSupported);
  const auto vmstat = parse_vmstat("pgpgin 1\npgpgout\npgfault x\n");
  EXPECT_EQ(vmstat.read_bytes, 1024);
  EXPECT_EQ(vmstat.write_bytes, kNone);
  EXPECT_EQ(vmstat.page_faults, kNone);
  EXPECT_EQ(parse_vmstat("").read_bytes, kNone);
}

TEST(Load, ReadsTheThreadsBehindTheSlashAndTheFirstAverage) {
  const auto load = parse_loadavg("12.34 0.11 0.07 1/82 5854\n");
  ASSERT_TRUE(load);
  EXPECT_EQ(load->threads, 82);
  EXPECT_EQ(load->load_1min_milli, 12'340);
  EXPECT_EQ(parse_loadavg("0.05 0.11 0.07 1/82 5854\n")->load_1min_milli, 50);
  EXPECT_FALSE(parse_loadavg("0.01 0.11 0.07 1 5854\n"));
  EXPECT_FALSE(parse_loadavg("0.01 0.11 0.07 1/ 5854\n"));
  EXPECT_FALSE(parse_loadavg(""));
}

TEST(Load, HasNoAverageWhereThatIsNoNumber) {
  constexpr record::Value kNone = record::unknown(record::State::kNotSupported);
  for (const auto* text : {"x 0 0 1/8 5\n", "1 0 0 1/8 5\n", "1.5 0 0 1/8 5\n", "1.-5 0 0 1/8 5\n",
                           "-1.50 0 0 1/8 5\n", "99999999999999999999.00 0 0 1/8 5\n"}) {
    const auto load = parse_loadavg(text);
    ASSERT_TRUE(load) << text;
    EXPECT_EQ(load->load_1min_milli, kNone) << text;
  }
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
