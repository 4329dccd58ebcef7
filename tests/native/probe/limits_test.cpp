#include "probe/limits.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

#include "allocations.hpp"
#include "host_tree.hpp"
#include "made_hosts.hpp"

namespace probe {
namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30;

Limits limits_of(const std::string& kind) { return Limits(Cgroups(made_host(kind), kMadePid)); }

TEST(Limits, AreThoseOfTheGroupInVersion2) {
  const Limits limits = limits_of("cgroup_v2");
  EXPECT_EQ(limits.cpu_millicores().amount, 2000);
  EXPECT_EQ(limits.cpu_millicores().group, "/system.slice/notebook.service");
  EXPECT_EQ(limits.memory_bytes().amount, 4 * kGib);
  EXPECT_EQ(limits.memory_bytes().group, "/system.slice/notebook.service");
  EXPECT_FALSE(limits.swap_bytes().there());
  EXPECT_EQ(limits.pids().amount, 4096);
  EXPECT_EQ(limits.own_group_pids(), 4096);
}

TEST(Limits, AreNoneWhereEverythingIsMax) {
  const Limits limits = limits_of("cgroup_v2_max");
  EXPECT_FALSE(limits.cpu_millicores().there());
  EXPECT_FALSE(limits.memory_bytes().there());
  EXPECT_FALSE(limits.swap_bytes().there());
  EXPECT_FALSE(limits.pids().there());
  EXPECT_EQ(limits.own_group_pids(), kNoLimit);
}

TEST(Limits, AreTheSmallestOfAllAncestorsEachWithItsOwnGroup) {
  const Limits limits = limits_of("cgroup_v2_ancestor");
  EXPECT_EQ(limits.cpu_millicores().amount, 1500);
  EXPECT_EQ(limits.cpu_millicores().group, "/kubepods.slice/pod1");
  EXPECT_EQ(limits.memory_bytes().amount, 4 * kGib);
  EXPECT_EQ(limits.memory_bytes().group, "/kubepods.slice");
  EXPECT_EQ(limits.swap_bytes().amount, 0);
  EXPECT_EQ(limits.own_group_pids(), 512);
}

TEST(Limits, AreFoundInVersion1AndWithControllersOfItBesideVersion2) {
  for (const auto* kind : {"cgroup_v1", "cgroup_hybrid"}) {
    const Limits limits = limits_of(kind);
    EXPECT_EQ(limits.cpu_millicores().amount, 500) << kind;
    EXPECT_EQ(limits.cpu_millicores().group, "/user.slice/notebook.service") << kind;
    EXPECT_EQ(limits.memory_bytes().amount, 8 * kGib) << kind;
    EXPECT_EQ(limits.memory_bytes().group, "/user.slice") << kind;
    EXPECT_FALSE(limits.memory_bytes().above) << kind;
    EXPECT_EQ(limits.swap_bytes().amount, 2 * kGib) << kind;  // 10 GiB less memory's 8
    EXPECT_EQ(limits.pids().amount, 2048) << kind;
  }
}

TEST(Limits, AreFoundInContainers) {
  for (const auto* kind : {"container_v2", "container_v2_host_names"}) {
    const Limits limits = limits_of(kind);
    EXPECT_EQ(limits.cpu_millicores().amount, 500) << kind;
    EXPECT_EQ(limits.memory_bytes().amount, kGib / 2) << kind;
  }
  EXPECT_EQ(limits_of("container_v2").memory_bytes().group, "/");
  EXPECT_EQ(limits_of("container_v2_host_names").memory_bytes().group, "/docker/3f9a7c0d52e1");
}

TEST(Limits, KnowOfAncestorsThatAContainerOfVersion1DoesNotSee) {
  const Limits limits = limits_of("container_v1");
  EXPECT_EQ(limits.cpu_millicores().amount, 3000);
  EXPECT_EQ(limits.memory_bytes().amount, 2 * kGib);
  EXPECT_TRUE(limits.memory_bytes().above);
  EXPECT_EQ(limits.pids().amount, 1024);
}

TEST(Limits, AreTheJobsInSlurm) {
  EXPECT_EQ(limits_of("slurm_v1").memory_bytes().amount, 8 * kGib);
  EXPECT_EQ(limits_of("slurm_v1").memory_bytes().group, "/slurm_n7/uid_1000/job_42/step_0");
  EXPECT_FALSE(limits_of("slurm_v1").cpu_millicores().there());
  EXPECT_EQ(limits_of("slurm_v2").memory_bytes().amount, 16 * kGib);
  EXPECT_EQ(limits_of("slurm_v2").memory_bytes().group,
            "/system.slice/n7_slurmstepd.scope/job_42/step_0");
}

TEST(Limits, AreNoneWithoutCgroups) {
  EXPECT_FALSE(limits_of("cgroup_none").memory_bytes().there());
  EXPECT_FALSE(Limits().cpu_millicores().there());
}

// A process 20 in /a/b of version 2.
class LimitsOnTheWay : public ::testing::Test {
 protected:
  LimitsOnTheWay() {
    host.write_process(20, 1);
    host.write("proc/20/cgroup", "0::/a/b\n");
    host.write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 c rw\n");
    host.write("sys/fs/cgroup/a/cpu.max", "300000 100000\n");
    host.write("sys/fs/cgroup/a/memory.max", "max\n");
    host.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    host.write("sys/fs/cgroup/a/b/memory.max", "1073741824\n");
  }
  bool read(Limits& limits) { return limits.read(buffer); }

  HostTree host;
  std::array<char, 8192> buffer{};
};

TEST_F(LimitsOnTheWay, FollowAChange) {
  Limits limits{Cgroups(host.root(), 20)};
  EXPECT_EQ(limits.cpu_millicores().group, "/a");
  EXPECT_FALSE(read(limits));
  host.write("sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
  EXPECT_TRUE(read(limits));
  EXPECT_EQ(limits.cpu_millicores().amount, 1000);
  EXPECT_EQ(limits.cpu_millicores().group, "/a/b");
  host.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_TRUE(read(limits));
  EXPECT_FALSE(limits.memory_bytes().there());
  EXPECT_FALSE(read(limits));
}

TEST_F(LimitsOnTheWay, NoticeAnotherGroupWithTheSameLimit) {
  Limits limits{Cgroups(host.root(), 20)};
  host.write("sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
  EXPECT_TRUE(read(limits));
  EXPECT_EQ(limits.cpu_millicores().group, "/a/b");
}

TEST_F(LimitsOnTheWay, StayWhenTheGroupIsRemoved) {
  Limits limits{Cgroups(host.root(), 20)};
  std::filesystem::remove_all(host.root() + "/sys/fs/cgroup/a");
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(read(limits));
  EXPECT_EQ(limits.cpu_millicores().amount, 3000);
  EXPECT_EQ(limits.memory_bytes().amount, kGib);
}

TEST_F(LimitsOnTheWay, StayWhileAFileSaysNothing) {
  Limits limits{Cgroups(host.root(), 20)};
  host.write("sys/fs/cgroup/a/cpu.max", "?\n");
  EXPECT_FALSE(read(limits));
  EXPECT_EQ(limits.cpu_millicores().amount, 3000);
}

TEST_F(LimitsOnTheWay, SeeAFileThatComesLaterOrIsTakenAway) {
  host.write("sys/fs/cgroup/a/b/pids.current", "3\n");
  Limits limits{Cgroups(host.root(), 20)};
  EXPECT_FALSE(limits.pids().there());
  host.write("sys/fs/cgroup/a/b/pids.max", "7\n");
  for (int i = 0; i < 10; ++i) read(limits);
  EXPECT_EQ(limits.pids().amount, 7);
  // Emptied, as the kernel answers ENODEV, and then gone from a group that is still there.
  host.write("sys/fs/cgroup/a/b/pids.max", "");
  std::filesystem::remove(host.root() + "/sys/fs/cgroup/a/b/pids.max");
  for (int i = 0; i < 10; ++i) read(limits);
  EXPECT_FALSE(limits.pids().there());
}

TEST_F(LimitsOnTheWay, AllocateNothingWhileTheyStayTheSame) {
  Limits limits{Cgroups(host.root(), 20)};
  const std::int64_t before = allocations();
  for (int i = 0; i < 9; ++i) read(limits);
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace probe
