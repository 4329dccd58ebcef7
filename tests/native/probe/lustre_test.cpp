#include "probe/lustre.hpp"

#include <gtest/gtest.h>

#include "made_hosts.hpp"

namespace probe {
namespace {

std::int64_t count_of(const LustreCounts& counts, std::string_view name) {
  for (std::size_t i = 0; i < kLustreCounts.size(); ++i) {
    if (kLustreCounts[i] == name) return counts[i];
  }
  return -1;
}

TEST(Lustre, CountsBytesAndCallsOfEachMount) {
  bool refused = false;
  auto mounts = read_lustre(made_host("lustre"), refused);
  ASSERT_EQ(mounts.size(), 2U);
  const bool work_first = mounts[0].file_system == "work";
  const LustreMount& work = mounts[work_first ? 0 : 1];
  const LustreMount& home = mounts[work_first ? 1 : 0];
  EXPECT_EQ(work.file_system, "work");
  EXPECT_EQ(home.file_system, "home");
  EXPECT_EQ(count_of(work.counts, "read_bytes"), 8388612);
  EXPECT_EQ(count_of(work.counts, "reads"), 6);
  EXPECT_EQ(count_of(work.counts, "write_bytes"), 7);
  EXPECT_EQ(count_of(work.counts, "opens"), 14);
  EXPECT_EQ(count_of(work.counts, "getattrs"), 1201);
  EXPECT_EQ(count_of(home.counts, "unlinks"), 5);
  EXPECT_EQ(count_of(home.counts, "write_bytes"), 0);  // nothing has happened
  EXPECT_FALSE(refused);
}

TEST(Lustre, ReadsANewerClientsFileWithSquares) {
  bool refused = false;
  const auto mounts = read_lustre(made_host("lustre_debugfs"), refused);
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(count_of(mounts[0].counts, "write_bytes"), 8193);
  EXPECT_EQ(count_of(mounts[0].counts, "writes"), 3);
}

TEST(Lustre, HasNoMountsWhereThereIsNoClient) {
  bool refused = false;
  EXPECT_TRUE(read_lustre(made_host("server"), refused).empty());
  EXPECT_FALSE(refused);
}

TEST(Lustre, TakesNoOtherFile) {
  EXPECT_FALSE(parse_lustre_stats(""));
  EXPECT_FALSE(parse_lustre_stats("read_bytes 1 samples [bytes] 1 1 1\n"));
  EXPECT_FALSE(parse_lustre_stats("snapshot_time 1.2 secs.nsecs\nread_bytes many samples\n"));
  EXPECT_FALSE(
      parse_lustre_stats("snapshot_time 1.2 secs.nsecs\nread_bytes 1 samples [bytes] 1\n"));
}

}  // namespace
}  // namespace probe
