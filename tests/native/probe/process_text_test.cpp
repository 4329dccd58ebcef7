// The parsers of /proc/PID: stat, status, io.

#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "probe/process_io.hpp"
#include "probe/process_stat.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

std::string stat_of(const std::string& name) {
  return "5854 (" + name +
         ") S 17 5854 5854 0 -1 4194560 1292 8 0 0 12 3 4 1 20 0 9 0 10912 4026368 813 "
         "18446744073709551615 1 1 0 0 0 0 0 0 65536 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
}

TEST(ProcessStat, ReadsTheFieldsThatAreNeeded) {
  const auto stat = parse_pid_stat(stat_of("python3"));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 17);
  EXPECT_EQ(stat->own_ns, 15 * kTickNs);
  EXPECT_EQ(stat->children_ns, 5 * kTickNs);
  EXPECT_EQ(stat->threads, 9);
  EXPECT_EQ(stat->start_ticks, 10912);
  EXPECT_EQ(stat->resident_pages, 813);
  EXPECT_EQ(stat->name.text(), "python3");
  EXPECT_FALSE(stat->kernel_thread);
}

TEST(ProcessStat, AddsMajorFaultsToAll) {
  const auto stat = parse_pid_stat(
      "5854 (a) S 17 5854 5854 0 -1 4194560 1292 80 7 3 12 3 4 1 20 0 9 0 10912 4026368 813 1");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->own_faults, (FaultCounts{1299, 7}));
  EXPECT_EQ(stat->children_faults, (FaultCounts{83, 3}));
}

TEST(ProcessStat, KnowsThoseWhoseParentsWillNotHearOfTheirEnd) {
  std::string text = stat_of("python3");
  EXPECT_FALSE(parse_pid_stat(text)->silent);
  text.replace(text.find(" 0 0 0 17 "), 10, " 0 0 0 0 ");
  EXPECT_TRUE(parse_pid_stat(text)->silent);
}

TEST(ProcessStat, KnowsKernelThreads) {
  const auto stat =
      parse_pid_stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 2 0 0 20 0 1 0 6 0 0");
  ASSERT_TRUE(stat);
  EXPECT_TRUE(stat->kernel_thread);
}

TEST(ProcessStat, CutsALongName) {
  const auto stat = parse_pid_stat(stat_of("kworker/u128:3-events_unbound"));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name.text(), "kworker/u128:3-");
}

TEST(ProcessStat, LetsTheNameHoldAnything) {
  for (const auto* name :
       {"a b", "a) R 1 2 3", "((", "))", "", "x\ny", ") S 1 (", "\xff\xfe\x01"}) {
    const auto stat = parse_pid_stat(stat_of(name));
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->parent, 17) << name;
    EXPECT_EQ(stat->resident_pages, 813) << name;
    EXPECT_EQ(stat->name.text(), name);
  }
}

TEST(ProcessStat, RefusesEveryTextThatIsCutBeforeTheLastField) {
  const std::string text = stat_of("a) b");
  const std::size_t end = text.find(" 813 ") + 4;
  for (std::size_t size = 0; size < text.find(" 813 ") + 2; ++size) {
    EXPECT_FALSE(parse_pid_stat(text.substr(0, size))) << size;
  }
  EXPECT_TRUE(parse_pid_stat(text.substr(0, end)));
}

TEST(ProcessStat, RefusesNumbersThatAreNone) {
  EXPECT_FALSE(parse_pid_stat("1 (a) S x 1 1 0 -1 0 0 0 0 0 1 1 1 1 20 0 1 0 1 1 1 1"));
  EXPECT_FALSE(parse_pid_stat("1 (a) S 9999999999 1 1 0 -1 0 0 0 0 0 1 1 1 1 20 0 1 0 1 1 1 1"));
  EXPECT_FALSE(parse_pid_stat("1 (a) S 1 1 1 0 -1 0 x 0 0 0 1 1 1 1 20 0 1 0 1 1 1 1"));
  EXPECT_FALSE(parse_pid_stat(") S 1 (1 1 0 -1 0 0 0 0 0 1 1 1 1 20 0 1 0 1"));
  EXPECT_FALSE(
      parse_pid_stat("1 (a) S 1 1 1 0 -1 0 0 0 0 0 999999999999999999 1 1 1 20 0 1 0 1 1 1 1"));
}

TEST(ProcessStat, CallsAMainThreadThatEndedBeforeOthersNoZombie) {
  ProcessStat stat;
  stat.state = 'Z';
  stat.threads = 3;
  EXPECT_FALSE(stat.zombie());
  stat.threads = 1;
  EXPECT_TRUE(stat.zombie());
}

TEST(ProcessStatus, ReadsTheIgnoredSignals) {
  const auto mask = parse_status_sigign("Name:\tcat\nSigBlk:\t0\nSigIgn:\t0000000000011000\n");
  ASSERT_TRUE(mask);
  EXPECT_NE(*mask >> (SIGCHLD - 1) & 1, 0U);
  EXPECT_NE(*mask >> (SIGPIPE - 1) & 1, 0U);
  EXPECT_EQ(*mask >> (SIGINT - 1) & 1, 0U);
  EXPECT_EQ(parse_status_sigign("SigIgn:\tffffffffffffffff\n"), ~std::uint64_t{0});
  EXPECT_FALSE(parse_status_sigign("SigIgn:\n"));
  EXPECT_FALSE(parse_status_sigign("SigIgn: xyz\n"));
  EXPECT_FALSE(parse_status_sigign("SigIgn: 1ffffffffffffffff\n"));
  EXPECT_FALSE(parse_status_sigign(""));
}

TEST(ProcessStatus, ReadsTheRealUser) {
  EXPECT_EQ(parse_status_uid("Name:\tsudo\nUid:\t1000\t0\t0\t0\nGid:\t5\t5\t5\t5\n"), 1000U);
  EXPECT_EQ(parse_status_uid("Uid:\t4294967294\t0\n"), 4294967294U);
  EXPECT_FALSE(parse_status_uid("Uid:\t4294967296\t0\n"));
  EXPECT_FALSE(parse_status_uid("Uid:\t-1\t0\n"));
  EXPECT_FALSE(parse_status_uid("Uid:\n"));
  EXPECT_FALSE(parse_status_uid("Name:\tcat\n"));
}

TEST(ProcessStatus, ReadsPeakAndCores) {
  const char* text =
      "VmPeak:\t    5000 kB\nVmHWM:\t    3480 kB\nCpus_allowed_list:\t0-1,4\nMems:\t0\n";
  EXPECT_EQ(parse_status_vmhwm(text), 3480 * 1024);
  EXPECT_EQ(parse_status_cores(text), "0-1,4");
  EXPECT_FALSE(parse_status_vmhwm("Name:\tzombie\n"));
  EXPECT_EQ(parse_status_cores("Name:\tzombie\n"), "");
}

TEST(ProcessIo, ReadsAllSix) {
  const auto io = parse_pid_io(
      "rchar: 6976\nwchar: 12\nsyscr: 10\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n"
      "cancelled_write_bytes: 7\n");
  ASSERT_TRUE(io);
  EXPECT_EQ(*io, (IoCounts{6976, 12, 10, 1, 4096, 8192}));
}

TEST(ProcessIo, RefusesATextThatIsCutOrHostile) {
  EXPECT_FALSE(parse_pid_io("rchar: 6976\nwchar: 12\n"));
  EXPECT_FALSE(parse_pid_io(
      "rchar: -1\nwchar: 12\nsyscr: 10\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n"));
  EXPECT_FALSE(parse_pid_io(""));
}

}  // namespace
}  // namespace probe
