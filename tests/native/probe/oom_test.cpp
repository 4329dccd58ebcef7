// Which limit killed, and who else was meant: version 2, Slurm's groups, systemd-oomd.

#include "probe/oom.hpp"

#include <gtest/gtest.h>
#include <sys/xattr.h>

#include <cstring>
#include <filesystem>

#include "allocations.hpp"
#include "oom_tree.hpp"

namespace probe {
namespace {

constexpr const char* kService = "/user.slice/notebook.service";
constexpr const char* kSlice = "/user.slice";

// A group of 512 MiB in one of 2048, nothing killed so far.
class OomWatchV2 : public ::testing::Test {
 protected:
  OomWatchV2() {
    for (const auto* group : {kService, kSlice}) {
      tree.events(group, 0, 0);
      tree.usage(group, 200);
      tree.peak(group, 300);
    }
    tree.limit(kService, 512);
    tree.limit(kSlice, 2048);
  }
  OomTree tree{true, kService};
};

// Fault: P2
TEST_F(OomWatchV2, TellsTheLimitOfItsOwnGroup) {
  Watcher watcher(tree);
  watcher.look();
  EXPECT_EQ(watcher.end(), "");
  tree.events(kService, 1, 1);
  tree.events(kSlice, 0, 0, 1);
  tree.peak(kService, 511);
  tree.dead();
  EXPECT_EQ(watcher.end(), "killed by the memory limit (peak 511 MiB of 512 MiB)");
}

// Fault: P2
TEST_F(OomWatchV2, TellsTheLimitOfAnAncestor) {
  Watcher watcher(tree);
  watcher.look();
  tree.events(kService, 0, 1);
  tree.events(kSlice, 1, 0, 1);
  tree.peak(kSlice, 2048);
  EXPECT_EQ(watcher.end(),
            "killed by the memory limit (peak 2048 MiB of 2048 MiB): that of the control group "
            "/user.slice");
}

// Fault: P2
TEST_F(OomWatchV2, BelievesOnlyAPeakOfThisLife) {
  tree.peak(kService, 512);  // of an earlier one
  Watcher watcher(tree);
  tree.usage(kService, 480);
  watcher.look();
  tree.usage(kService, 300);
  watcher.look();
  tree.events(kService, 1, 1);
  EXPECT_EQ(watcher.end(), "killed by the memory limit (peak 480 MiB of 512 MiB)");
}

// Fault: P2
TEST_F(OomWatchV2, ForgetsAChildThatWasKilledEarlier) {
  Watcher watcher(tree);
  watcher.look();
  tree.events(kService, 1, 1);  // a worker
  watcher.look();
  watcher.look(false);  // a tick later the process is still well
  tree.dead();
  EXPECT_EQ(watcher.end(), "");
}

// Fault: P2
TEST_F(OomWatchV2, WaitsOneTickForTheSignalThatFollowsTheCount) {
  Watcher watcher(tree);
  watcher.look();
  tree.events(kService, 1, 1);
  watcher.look();
  tree.dead();
  EXPECT_NE(watcher.end(), "");
}

// Fault: P2
TEST_F(OomWatchV2, SeesThatTheProcessIsTheOneThatDies) {
  Watcher watcher(tree);
  watcher.look();
  tree.events(kService, 1, 1);
  tree.dying();
  for (int i = 0; i < 30; ++i) watcher.look();  // it takes long to give back its memory
  EXPECT_EQ(watcher.end().substr(0, 26), "killed by the memory limit");
}

// Fault: P2
TEST_F(OomWatchV2, IsNotMovedByKillsElsewhere) {
  Watcher watcher(tree);
  watcher.look();
  tree.events(kSlice, 1, 0, 1);  // in another group of the slice
  tree.vmstat(3);
  EXPECT_EQ(watcher.end(), "");
}

// Fault: P2
TEST_F(OomWatchV2, AsksAnAncestorWhenTheGroupIsGone) {
  Watcher watcher(tree);
  watcher.look();
  tree.put(kService, "memory.events.local", "");
  tree.put(kService, "memory.events", "");
  tree.events(kSlice, 0, 0, 1);
  tree.usage(kService, 500);
  EXPECT_NE(watcher.end(), "");
}

// Fault: P2
TEST_F(OomWatchV2, CallsItTheMachineWhenNoLimitWasHit) {
  Watcher watcher(tree);
  watcher.node_mib = 16200;
  watcher.look();
  tree.events(kService, 0, 1);
  tree.events(kSlice, 0, 0, 1);
  EXPECT_EQ(watcher.end(),
            "killed because the machine was out of memory (peak 16200 MiB of 16384 MiB)");
}

// Fault: P2
TEST_F(OomWatchV2, CallsItTheLimitThatWasNearWhenItsCountWasSeenBefore) {
  Watcher watcher(tree);
  tree.events(kService, 1, 0);
  tree.usage(kService, 500);
  watcher.look();
  tree.events(kService, 1, 1);
  EXPECT_EQ(watcher.end(), "killed by the memory limit (peak 500 MiB of 512 MiB)");
}

// Fault: P2
TEST_F(OomWatchV2, FollowsAProcessThatIsMoved) {
  Watcher watcher(tree);
  watcher.look();
  tree.events("/other", 7, 7);
  tree.limit("/other", 100);
  tree.tree.write("proc/700/cgroup", "0::/other\n");
  watcher.move();
  EXPECT_EQ(watcher.end(), "");
  tree.events("/other", 8, 8);
  EXPECT_EQ(watcher.end(), "killed by the memory limit (limit 100 MiB)");
}

// Fault: P2
TEST_F(OomWatchV2, AllocatesNothingInALook) {
  Watcher watcher(tree);
  watcher.look();
  const std::int64_t before = allocations();
  watcher.look();
  EXPECT_EQ(allocations(), before);
}

// Fault: P2
TEST(OomWatch, OfAGroupThatHasNoLimitAndHiddenAncestorsSaysSo) {
  const OomTree tree(true, "/kubepods/pod1/3f", "/kubepods/pod1/3f");
  tree.events("/kubepods/pod1/3f", 0, 0);
  tree.put("/kubepods/pod1/3f", "cgroup.type", "domain");
  tree.limit("/kubepods/pod1/3f", -1);
  Watcher watcher(tree);
  watcher.look();
  tree.events("/kubepods/pod1/3f", 0, 1);
  EXPECT_EQ(watcher.end(),
            "killed by the memory limit: that of a control group that can't be seen from here");
}

// Fault: P2
TEST(OomWatch, WithoutAnyGroupAsksTheMachine) {
  const OomTree tree(true, "/");
  Watcher watcher(tree);
  watcher.node_mib = 16000;
  watcher.look();
  EXPECT_EQ(watcher.end(), "");
  tree.vmstat(1);
  EXPECT_EQ(watcher.end(),
            "killed because the machine was out of memory (peak 16000 MiB of 16384 MiB)");
}

// Fault: P2
TEST(OomWatch, NamesSlurmsJobAndStep) {
  const std::string job = "/system.slice/slurmstepd.scope/job_42";
  const OomTree tree(true, job + "/step_0/user/task_0");
  for (const std::string& group :
       {job, job + "/step_0", job + "/step_0/user", job + "/step_0/user/task_0"}) {
    tree.events(group, 0, 0);
    tree.limit(group, -1);
  }
  tree.limit(job, 4096);
  tree.limit(job + "/step_0", 4096);
  for (const auto& [guilty, words] : {std::pair{job, "the Slurm job 42"},
                                      std::pair{job + "/step_0", "step 0 of the Slurm job 42"}}) {
    for (const auto& group : {job, job + "/step_0"}) tree.events(group, 0, 0);
    tree.events(job + "/step_0/user/task_0", 0, 0);
    Watcher watcher(tree);
    watcher.look();
    tree.events(guilty, 1, 0, 1);
    tree.events(job + "/step_0/user/task_0", 0, 1);
    EXPECT_EQ(watcher.end(),
              std::string("killed by the memory limit (limit 4096 MiB): that of ") + words);
  }
}

// What systemd-oomd has written, by attribute.
int ooms_marked = 0;
int kills_marked = 0;
ssize_t made_up_mark(int /*directory_fd*/, const char* name, void* buffer, std::size_t size) {
  const int count = std::strcmp(name, "user.oomd_ooms") == 0 ? ooms_marked : kills_marked;
  if (count == 0) return -1;
  const std::string text = std::to_string(count);
  if (text.size() > size) return -1;
  std::memcpy(buffer, text.data(), text.size());
  return static_cast<ssize_t>(text.size());
}

// Fault: P2
TEST_F(OomWatchV2, TellsTheDaemonByItsMarks) {
  ooms_marked = kills_marked = 3;  // long ago
  Watcher watcher(tree, made_up_mark);
  watcher.look();
  EXPECT_EQ(watcher.end(), "");
  tree.peak(kService, 400);
  ooms_marked = 4;
  EXPECT_EQ(watcher.end(), "killed by an out-of-memory daemon (peak 400 MiB): systemd-oomd");
  ooms_marked = 3;
  kills_marked = 9;
  EXPECT_EQ(watcher.end(), "killed by an out-of-memory daemon (peak 400 MiB): systemd-oomd");
}

// Fault: P2
TEST_F(OomWatchV2, ReadsTheMarksOfTheDaemonInTheDirectoryOfAnAncestor) {
  const std::string slice = tree.tree.root() + "/" + tree.folder(kSlice);
  if (::setxattr(slice.c_str(), "user.oomd_kill", "1", 1, 0) != 0) {
    GTEST_SKIP() << "no extended attributes in " << slice;
  }
  Watcher watcher(tree);
  watcher.look();
  EXPECT_EQ(watcher.end(), "");
  ASSERT_EQ(::setxattr(slice.c_str(), "user.oomd_kill", "12", 2, 0), 0);
  EXPECT_EQ(watcher.end(), "killed by an out-of-memory daemon (peak 200 MiB): systemd-oomd");
}

}  // namespace
}  // namespace probe
