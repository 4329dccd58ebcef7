#include "probe/mounts.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "host_tree.hpp"

namespace probe {
namespace {

TEST(Mount, ReadsWhereAndWhat) {
  const auto mount =
      parse_mount("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->device, "98:0");
  EXPECT_EQ(mount->point, "/mnt2");
  EXPECT_EQ(mount->type, "ext3");
}

TEST(Mount, ReadsNamesThatHadToBeEscaped) {
  const auto mount = parse_mount("1 2 0:5 / /a\\040b\\134c\\011\\012 rw - tmpfs none rw");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->point, "/a b\\c\t\n");
  EXPECT_EQ(parse_mount("1 2 0:5 / /a\\04 rw - tmpfs none rw")->point, "/a\\04");
  EXPECT_EQ(parse_mount("1 2 0:5 / /a\\888 rw - tmpfs none rw")->point, "/a\\888");
}

TEST(Mount, IsNoneOfOtherLines) {
  for (const auto* line : {"", "1 2 0:5 / /x rw", "1 2 0:5 / /x rw -", "1 2 05 / /x rw - ext4 a b",
                           "1 2 0:5 / x rw - ext4 a b", "- - - - - - - - -"}) {
    EXPECT_FALSE(parse_mount(line)) << line;
  }
}

class MountsTest : public testing::Test {
 protected:
  MountsTest() {
    std::filesystem::create_directories(host.root() + "/data/me");
    std::filesystem::create_directory_symlink("data/me", host.root() + "/relative");
    std::filesystem::create_directory_symlink("/relative/deep", host.root() + "/absolute");
    std::filesystem::create_directory_symlink("../../far/away", host.root() + "/data/me/out");
    std::filesystem::create_directory_symlink("loop", host.root() + "/loop");
  }
  [[nodiscard]] std::string follow(std::string_view path) const {
    return follow_local_links(host.root(), path, mounts);
  }

  HostTree host;
  std::vector<Mount> mounts = parse_mounts(
      "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /far rw - nfs4 server:/x rw\n"
      "3 1 0:7 / /datapath rw - tmpfs none rw\n4 1 8:2 / /data rw - xfs /dev/sda2 rw\n"
      "5 4 0:8 / /data rw - overlay overlay rw\n");
};

TEST_F(MountsTest, APathIsOnTheLongestMountPointAndTheLastOneThere) {
  EXPECT_EQ(mount_of(mounts, "/x/y")->type, "ext4");
  EXPECT_EQ(mount_of(mounts, "/")->type, "ext4");
  EXPECT_EQ(mount_of(mounts, "/far")->type, "nfs4");
  EXPECT_EQ(mount_of(mounts, "/farther")->type, "ext4");
  EXPECT_EQ(mount_of(mounts, "/data/me")->type, "overlay");
  EXPECT_EQ(mount_of({}, "/"), nullptr);
}

TEST_F(MountsTest, LinksAreFollowedOnFileSystemsOfThisMachine) {
  EXPECT_EQ(follow("/data/me"), "/data/me");
  EXPECT_EQ(follow("/relative/x/../y"), "/data/me/y");
  EXPECT_EQ(follow("/absolute"), "/data/me/deep");
  EXPECT_EQ(follow("/absolute/"), "/data/me/deep");
  EXPECT_EQ(follow("/nothing/here"), "/nothing/here");
  EXPECT_EQ(follow("/"), "/");
}

TEST_F(MountsTest, LinksAreLeftAloneWhereAServerWouldHaveToAnswer) {
  std::filesystem::create_directories(host.root() + "/far");
  std::filesystem::create_directory_symlink("/data", host.root() + "/far/away");
  EXPECT_EQ(follow("/far/away/x"), "/far/away/x");
  EXPECT_EQ(follow("/relative/out/x"), "/far/away/x");
}

TEST_F(MountsTest, LinksThatGoRoundEnd) { EXPECT_EQ(follow("/loop/x"), "/loop/x"); }

}  // namespace
}  // namespace probe
