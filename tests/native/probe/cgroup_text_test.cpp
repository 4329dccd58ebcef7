// What the files of a group say.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "probe/cgroup_cpu.hpp"
#include "probe/cgroup_io.hpp"
#include "probe/cgroup_memory.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr record::Value kAbsent = record::unknown(record::State::kNotSupported);

TEST(CpuMax, IsAQuotaOrNone) {
  EXPECT_EQ(parse_cpu_max("200000 100000\n"), 2000);
  EXPECT_EQ(parse_cpu_max("50000 100000\n"), 500);
  EXPECT_EQ(parse_cpu_max("1000 1000000\n"), 1);
  EXPECT_EQ(parse_cpu_max("max 100000\n"), kNoLimit);
  EXPECT_EQ(parse_cpu_max("150000\n"), 1500);
}

TEST(CpuMax, RefusesWhatIsNone) {
  for (const auto* text : {"", "\n", "x 100000", "-1 100000", "100000 0", "100000 x",
                           "9223372036854775807 1", "99999999999999999999 100000"}) {
    EXPECT_EQ(parse_cpu_max(text), std::nullopt) << text;
  }
}

TEST(CfsQuota, IsAQuotaOrNone) {
  EXPECT_EQ(parse_cfs_quota("50000\n", "100000\n"), 500);
  EXPECT_EQ(parse_cfs_quota("-1\n", "100000\n"), kNoLimit);
  EXPECT_EQ(parse_cfs_quota("", "100000\n"), std::nullopt);
  EXPECT_EQ(parse_cfs_quota("50000\n", ""), std::nullopt);
  EXPECT_EQ(parse_cfs_quota("50000\n", "0\n"), std::nullopt);
}

TEST(CpuStat, CountsNanosecondsInBothVersions) {
  const auto v2 = parse_cpu_stat(
      "usage_usec 17977452393\nuser_usec 1\nnr_periods 40\nnr_throttled 7\nthrottled_usec 1500\n");
  EXPECT_EQ(v2.usage_ns, 17'977'452'393'000);
  EXPECT_EQ(v2.throttled_ns, 1'500'000);
  EXPECT_EQ(v2.throttled_periods, 7);
  const auto v1 = parse_cpu_stat("nr_periods 4\nnr_throttled 3\nthrottled_time 123456789\n");
  EXPECT_EQ(v1.usage_ns, kAbsent);
  EXPECT_EQ(v1.throttled_ns, 123'456'789);
  EXPECT_EQ(v1.throttled_periods, 3);
}

TEST(CpuStat, LeavesUnknownWhatIsNotThere) {
  const auto cpu = parse_cpu_stat("usage_usec 99999999999999999999\nnr_throttled\n");
  EXPECT_EQ(cpu.usage_ns, kAbsent);
  EXPECT_EQ(cpu.throttled_ns, kAbsent);
  EXPECT_EQ(cpu.throttled_periods, kAbsent);
}

TEST(MemoryLimit, IsANumberOrNone) {
  EXPECT_EQ(parse_limit("4294967296\n"), 4'294'967'296);
  EXPECT_EQ(parse_limit("0\n"), 0);
  EXPECT_EQ(parse_limit("max\n"), kNoLimit);
  EXPECT_EQ(parse_limit("9223372036854771712\n"), kNoLimit);   // pages of 4 KiB
  EXPECT_EQ(parse_limit("9223372036854710272\n"), kNoLimit);   // of 64 KiB
  EXPECT_EQ(parse_limit("18446744073709551615\n"), kNoLimit);  // Linux < 3.19
  EXPECT_EQ(parse_limit(""), std::nullopt);
  EXPECT_EQ(parse_limit("-1\n"), std::nullopt);
  EXPECT_EQ(parse_limit("maximum\n"), std::nullopt);
}

TEST(MemoryStat, TakesTheLinesOfVersion2) {
  const auto memory = parse_memory_stat(
      "anon 10\nfile 20\nkernel 5\nshmem 3\ninactive_anon 9\ninactive_file 4\nactive_file 13\n");
  EXPECT_EQ(memory.anonymous_bytes, 10);
  EXPECT_EQ(memory.cache_bytes, 20);
  EXPECT_EQ(memory.shared_bytes, 3);
  EXPECT_EQ(memory.inactive_file_bytes, 4);
  EXPECT_EQ(memory.swap_bytes, kAbsent);
  EXPECT_EQ(memory.limit_bytes, kAbsent);
}

TEST(MemoryStat, TakesTheSumsOfVersion1) {
  const auto memory = parse_memory_stat(
      "cache 1\nrss 1\nrss_huge 7\nshmem 1\nswap 1\ninactive_file 1\n"
      "hierarchical_memory_limit 1048576\ntotal_cache 20\ntotal_rss 10\ntotal_rss_huge 7\n"
      "total_shmem 3\ntotal_swap 6\ntotal_swapcached 0\ntotal_inactive_file 4\n");
  EXPECT_EQ(memory.anonymous_bytes, 10);
  EXPECT_EQ(memory.cache_bytes, 20);
  EXPECT_EQ(memory.shared_bytes, 3);
  EXPECT_EQ(memory.swap_bytes, 6);
  EXPECT_EQ(memory.inactive_file_bytes, 4);
  EXPECT_EQ(memory.limit_bytes, 1'048'576);
}

TEST(MemoryStat, TakesNoLimitOfVersion1ForOne) {
  EXPECT_EQ(parse_memory_stat("hierarchical_memory_limit 9223372036854771712\n").limit_bytes,
            kAbsent);
}

TEST(OomKills, AreCountedInBothVersions) {
  EXPECT_EQ(parse_oom_kills("low 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 9\n"), 2);
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"), 1);
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\n"), kAbsent);
}

TEST(IoStat, TakesOneDeviceALine) {
  const auto io = parse_io_stat_line(
      "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=1 dios=1 cost.usage=5");
  EXPECT_EQ(io.device, "8:16");
  EXPECT_EQ(io.bytes, (ReadWrite{1'459'200, 314'773'504}));
  EXPECT_EQ(io.requests, (ReadWrite{192, 353}));
  EXPECT_EQ(parse_io_stat_line("8:0").device, "8:0");
  EXPECT_EQ(parse_io_stat_line("8:0 rbytes=x wbytes=").bytes, (ReadWrite{0, 0}));
  for (const auto* line : {"", "(unknown) rbytes=1", "8 rbytes=1", ":1 rbytes=1", "8:x rbytes=1"}) {
    EXPECT_EQ(parse_io_stat_line(line).device, "") << line;
  }
}

TEST(Blkio, PutsTheLinesOfADeviceTogether) {
  std::map<std::string, ReadWrite> devices;
  visit_blkio(
      "8:0 Read 100\n8:0 Write 200\n8:0 Sync 300\n8:0 Total 300\n"
      "8:16 Read 5\n8:16 Write x\nTotal 305\n",
      [&](std::string_view device, const ReadWrite& now) { devices[std::string(device)] = now; });
  EXPECT_EQ(devices, (std::map<std::string, ReadWrite>{{"8:0", {100, 200}}, {"8:16", {5, 0}}}));
}

TEST(Blkio, NamesNoDeviceWhereThereIsOnlyATotal) {
  int visits = 0;
  for (const auto* text : {"", "Total 0\n", "Read 1\n\n"}) {
    visit_blkio(text, [&](std::string_view, const ReadWrite&) { ++visits; });
  }
  EXPECT_EQ(visits, 0);
}

}  // namespace
}  // namespace probe
