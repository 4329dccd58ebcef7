#include "probe/cgroup.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "actor.hpp"
#include "host_tree.hpp"
#include "made_hosts.hpp"

namespace probe {
namespace {

constexpr std::string_view kTextV1 =
    "9:name=systemd:/user.slice\n"
    "5:cpu,cpuacct:/slurm/uid_1000/job_42\n"
    "4:memory:/a:b c\n"
    "0::/system.slice/jupyter.service\n";

TEST(CgroupPath, FindsTheHierarchyOfAController) {
  EXPECT_EQ(parse_cgroup_v1(kTextV1, "cpu"), "/slurm/uid_1000/job_42");
  EXPECT_EQ(parse_cgroup_v1(kTextV1, "cpuacct"), "/slurm/uid_1000/job_42");
  EXPECT_EQ(parse_cgroup_v1(kTextV1, "memory"), "/a:b c");
  EXPECT_EQ(parse_cgroup_v1(kTextV1, "pids"), "");
  EXPECT_EQ(parse_cgroup_v1(kTextV1, "systemd"), "");
  EXPECT_EQ(parse_cgroup_v2(kTextV1), "/system.slice/jupyter.service");
}

TEST(CgroupPath, TakesNoLineThatIsNone) {
  EXPECT_EQ(parse_cgroup_v2("0::relative\n0:\n0\n:::\n"), "");
  EXPECT_EQ(parse_cgroup_v2("1:cpu:/a\n"), "");
  EXPECT_EQ(parse_cgroup_v1("0::/a\n", ""), "");
  EXPECT_EQ(parse_cgroup_v1("1:cpu\n2:cpu:/b", "cpu"), "/b");
}

TEST(Mountinfo, FindsCgroupsAmongOtherMounts) {
  const auto mounts = parse_mountinfo(
      "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 master:2 - cgroup cgroup rw,memory\n"
      "36 31 0:33 /docker/3f /sys/fs/a\\040b\\134c ro - cgroup2 cgroup rw,nsdelegate\n"
      "37 31 0:33 relative /x rw - cgroup2 cgroup rw\n"
      "38 31 0:33\n");
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].outer, "/");
  EXPECT_EQ(mounts[0].point, "/sys/fs/cgroup/memory");
  EXPECT_EQ(mounts[0].options, "rw,memory");
  EXPECT_FALSE(mounts[0].unified);
  EXPECT_EQ(mounts[1].outer, "/docker/3f");
  EXPECT_EQ(mounts[1].point, "/sys/fs/a b\\c");
  EXPECT_TRUE(mounts[1].unified);
}

TEST(Mountinfo, TakesAnEscapeThatIsNoneAsItStands) {
  const auto mounts = parse_mountinfo("1 1 0:1 /a\\9 /b\\04 rw - cgroup2 x y\n");
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].outer, "/a\\9");
  EXPECT_EQ(mounts[0].point, "/b\\04");
}

TEST(Mountinfo, IsBounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "1 1 0:1 / /sys rw - cgroup2 c rw\n";
  EXPECT_EQ(parse_mountinfo(text).size(), kMostCgroupMounts);
}

// Where the group of `controller` lies below the made host, and how it is called.
struct Found {
  Group group;
  std::string below_root;
  std::string path;
};

Found find(const std::string& kind, Controller controller) {
  const Cgroups cgroups(made_host(kind), kMadePid);
  Found found;
  found.group = cgroups.find(controller);
  if (!found.group.there()) return found;
  found.below_root = found.group.directory().substr(made_host(kind).size());
  found.path = found.group.path();
  return found;
}

TEST(Cgroups, FindsTheGroupInVersion2) {
  const auto found = find("cgroup_v2", Controller::kMemory);
  EXPECT_EQ(found.below_root, "/sys/fs/cgroup/system.slice/notebook.service");
  EXPECT_EQ(found.path, "/system.slice/notebook.service");
  EXPECT_TRUE(found.group.unified);
  EXPECT_TRUE(found.group.own);
  EXPECT_FALSE(found.group.is_root());
  EXPECT_TRUE(found.group.true_root);
}

TEST(Cgroups, FindsTheGroupOfEachControllerInVersion1) {
  EXPECT_EQ(find("cgroup_v1", Controller::kCpu).below_root,
            "/sys/fs/cgroup/cpu,cpuacct/user.slice/notebook.service");
  EXPECT_EQ(find("cgroup_v1", Controller::kCpuacct).below_root,
            "/sys/fs/cgroup/cpu,cpuacct/user.slice/notebook.service");
  EXPECT_EQ(find("cgroup_v1", Controller::kIo).below_root,
            "/sys/fs/cgroup/blkio/user.slice/notebook.service");
  EXPECT_TRUE(find("cgroup_v1", Controller::kCpuset).group.is_root());
  EXPECT_FALSE(Cgroups(made_host("cgroup_v1"), kMadePid).find_unified().there());
}

TEST(Cgroups, FindsControllersInVersion1AndPressureInVersion2) {
  EXPECT_FALSE(find("cgroup_hybrid", Controller::kMemory).group.unified);
  const Cgroups cgroups(made_host("cgroup_hybrid"), kMadePid);
  EXPECT_EQ(cgroups.find_unified().directory(),
            made_host("cgroup_hybrid") + "/sys/fs/cgroup/unified/user.slice/notebook.service");
}

TEST(Cgroups, TakesAContainersGroupForNoRoot) {
  const auto named = find("container_v2", Controller::kMemory);
  EXPECT_EQ(named.below_root, "/sys/fs/cgroup");
  EXPECT_EQ(named.path, "/");
  EXPECT_FALSE(named.group.is_root());
  const auto host_named = find("container_v2_host_names", Controller::kCpu);
  EXPECT_EQ(host_named.below_root, "/sys/fs/cgroup");
  EXPECT_EQ(host_named.path, "/docker/3f9a7c0d52e1");
  EXPECT_FALSE(host_named.group.is_root());
  const auto v1 = find("container_v1", Controller::kMemory);
  EXPECT_EQ(v1.below_root, "/sys/fs/cgroup/memory");
  EXPECT_EQ(v1.path, "/kubepods/burstable/pod5d0e/7be1");
  EXPECT_FALSE(v1.group.true_root);
}

TEST(Cgroups, HasNoGroupWhereThereAreNone) {
  EXPECT_FALSE(find("cgroup_none", Controller::kMemory).group.there());
  const HostTree empty;
  EXPECT_FALSE(Cgroups(empty.root(), 20).find(Controller::kCpu).there());
}

// A host of version 2 whose process 20 is in `path`; `outer` is what is mounted.
void write_unified(const HostTree& host, const std::string& path, const std::string& outer = "/") {
  host.write_process(20, 1);
  host.write("proc/20/cgroup", "0::" + path + "\n");
  host.write("proc/self/mountinfo", "31 23 0:28 " + outer + " /sys/fs/cgroup rw - cgroup2 c rw\n");
  host.write("sys/fs/cgroup/cgroup.procs", "1\n");
}

TEST(Cgroups, TakesTheMountWhereThePathLeadsNowhere) {
  const HostTree host;
  write_unified(host, "/docker/3f");
  host.write("sys/fs/cgroup/cgroup.events", "populated 1\n");
  const Group group = Cgroups(host.root(), 20).find(Controller::kMemory);
  EXPECT_EQ(group.directory(), host.root() + "/sys/fs/cgroup");
  EXPECT_TRUE(group.own);
}

TEST(Cgroups, TakesAMountFromAboveForAnAncestorOnly) {
  const HostTree host;
  write_unified(host, "/", "/../..");
  const Group group = Cgroups(host.root(), 20).find(Controller::kMemory);
  EXPECT_TRUE(group.there());
  EXPECT_FALSE(group.own);
}

TEST(Cgroups, NeverLeavesTheMount) {
  const HostTree host;
  host.write("sys/fs/other/cgroup.procs", "20\n");
  write_unified(host, "/../other");
  EXPECT_FALSE(Cgroups(host.root(), 20).find(Controller::kMemory).there());
  for (const auto* path : {"/a/../../other", "/a/b/../../../other", "/a/.."}) {
    write_unified(host, path, "/a");
    EXPECT_EQ(Cgroups(host.root(), 20).find(Controller::kMemory).below, "") << path;
  }
}

TEST(Cgroups, PrefersTheMountThatShowsMoreAncestors) {
  const HostTree host;
  write_unified(host, "/a/b");
  host.write("proc/self/mountinfo",
             "30 23 0:28 /a /mnt/outer rw - cgroup2 c rw\n"
             "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 c rw\n"
             "32 23 0:28 /a/b /mnt/inner rw - cgroup2 c rw\n");
  host.write("mnt/inner/cgroup.procs", "20\n");
  host.write("sys/fs/cgroup/a/b/cgroup.procs", "20\n");
  const Group group = Cgroups(host.root(), 20).find(Controller::kMemory);
  EXPECT_EQ(group.below, "/a/b");
  std::filesystem::remove_all(host.root() + "/sys/fs/cgroup/a");  // mounted over
  EXPECT_EQ(Cgroups(host.root(), 20).find(Controller::kMemory).mount, host.root() + "/mnt/inner");
}

TEST(Cgroups, ReadsMountsBeyondTheFirstBuffer) {
  const HostTree host;
  write_unified(host, "/");
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "27 1 254:0 / /somewhere/else rw - ext4 /dev/vda rw\n";
  host.write("proc/self/mountinfo", text + "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 c rw\n");
  EXPECT_TRUE(Cgroups(host.root(), 20).find(Controller::kMemory).there());
}

TEST(Cgroups, SeesThatTheProcessWasMoved) {
  const HostTree host;
  write_unified(host, "/a");
  host.write("sys/fs/cgroup/a/cgroup.procs", "");
  host.write("sys/fs/cgroup/b/cgroup.procs", "");
  Cgroups cgroups(host.root(), 20);
  std::array<char, 4096> buffer;
  EXPECT_FALSE(cgroups.look(buffer));
  host.write("proc/20/cgroup", "0::/b\n");
  EXPECT_TRUE(cgroups.look(buffer));
  EXPECT_FALSE(cgroups.look(buffer));
  EXPECT_EQ(cgroups.moves(), 1U);
  EXPECT_EQ(cgroups.find(Controller::kMemory).path(), "/b");
}

TEST(Cgroups, StaysWhereAnEndingProcessWas) {
  const HostTree host;
  write_unified(host, "/a");
  host.write("sys/fs/cgroup/a/cgroup.procs", "");
  Cgroups cgroups(host.root(), 20);
  std::array<char, 4096> buffer;
  host.write("proc/20/cgroup", "0::/a (deleted)\n");
  EXPECT_FALSE(cgroups.look(buffer));
  host.write("proc/20/cgroup", "0::/\n");
  host.write("proc/20/status", "Name:\tpython\nState:\tZ (zombie)\n");
  EXPECT_FALSE(cgroups.look(buffer));
  EXPECT_EQ(cgroups.find(Controller::kMemory).path(), "/a");
}

TEST(Cgroups, KnowsTheGroupsOfThisProcessAndOfAZombie) {
  Cgroups own("/", ::getpid());
  std::array<char, 16384> buffer;
  EXPECT_FALSE(own.look(buffer));
  Actor actor([](const Cue& cue) {
    cue.tell(0);
    cue.wait();
  });
  actor.heard();
  Cgroups cgroups("/", actor.pid());
  EXPECT_EQ(cgroups.find(Controller::kMemory).path(), own.find(Controller::kMemory).path());
  actor.go();
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(actor.pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(cgroups.look(buffer));
}

}  // namespace
}  // namespace probe
