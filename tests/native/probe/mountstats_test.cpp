#include "probe/mountstats.hpp"

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "made_hosts.hpp"

namespace probe {
namespace {

TEST(Mountstats, CountsEachNfsDeviceOnce) {
  const auto text = base::read_small_file(made_host("nfs") + "/proc/self/mountstats");
  ASSERT_TRUE(text);
  const auto mounts = parse_mountstats(*text);
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].device, "nfs1:/home");
  EXPECT_EQ(mounts[0].counts, (MountCounts{5096, 210, 5096, 210, 6, 1, 1, 1, 19}));
  EXPECT_EQ(mounts[1].device, "nfs2:/data");
  EXPECT_EQ(mounts[1].counts, (MountCounts{4, 6, 5, 6, 10, 0, 0, 0, 30}));
}

TEST(Mountstats, TakesWhatItCanOfADamagedText) {
  EXPECT_TRUE(parse_mountstats("").empty());
  EXPECT_TRUE(parse_mountstats("bytes: 1 2 3\nper-op statistics\n READ: 1 1\n").empty());
  const auto mounts = parse_mountstats(
      "device a:/ mounted on /a with fstype nfs4 statvers=1.1\nbytes: -1 x 5\nper-op\nREAD: 2\n");
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].counts, (MountCounts{5, 0, 0, 0, 2, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace probe
