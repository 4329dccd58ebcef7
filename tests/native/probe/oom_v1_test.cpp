// The same of version 1, whose groups count only their own kills, and no hits but failed charges.

#include <gtest/gtest.h>

#include "oom_tree.hpp"

namespace probe {
namespace {

constexpr const char* kJob = "/slurm/uid_7/job_42";
constexpr const char* kTask = "/slurm/uid_7/job_42/step_0/task_0";

class OomWatchV1 : public ::testing::Test {
 protected:
  OomWatchV1() {
    for (const char* group : {kTask, kJob}) {
      tree.kills(group, 2);
      tree.fails(group, 100);
      tree.usage(group, 100);
      tree.peak(group, 150);
    }
    tree.limit(kTask, -1);
    tree.limit(kJob, 512);
  }
  OomTree tree{false, kTask};
};

// Fault: P2
TEST_F(OomWatchV1, TellsTheLimitOfTheSlurmJob) {
  Watcher watcher(tree);
  watcher.look();
  EXPECT_EQ(watcher.end(), "");
  tree.kills(kTask, 3);
  tree.fails(kJob, 140);
  tree.peak(kJob, 512);
  EXPECT_EQ(watcher.end(),
            "killed by the memory limit (peak 512 MiB of 512 MiB): that of the Slurm job 42");
}

// Fault: P2
TEST_F(OomWatchV1, IsNotMovedByAKillInAnAncestor) {
  Watcher watcher(tree);
  watcher.look();
  tree.kills(kJob, 3);
  tree.vmstat(1);
  EXPECT_EQ(watcher.end(), "");
}

// Fault: P2
TEST_F(OomWatchV1, TellsMemoryAndSwapTogether) {
  tree.put(kJob, "memory.memsw.limit_in_bytes", std::to_string(600 * kMib));
  tree.put(kJob, "memory.memsw.failcnt", "0");
  tree.put(kJob, "memory.memsw.max_usage_in_bytes", "0");
  Watcher watcher(tree);
  watcher.look();
  tree.kills(kTask, 3);
  tree.put(kJob, "memory.memsw.failcnt", "1");
  tree.put(kJob, "memory.memsw.max_usage_in_bytes", std::to_string(599 * kMib));
  EXPECT_EQ(watcher.end(),
            "killed by the memory limit (peak 599 MiB of 600 MiB): that of the Slurm job 42");
}

// Fault: P2
TEST_F(OomWatchV1, TakesTheTightestLimitWhereHitsAreNotCounted) {
  std::filesystem::remove(tree.tree.root() + "/" + tree.folder(kJob) + "memory.failcnt");
  Watcher watcher(tree);
  watcher.look();
  tree.kills(kTask, 3);
  EXPECT_EQ(watcher.end(),
            "killed by the memory limit (peak 100 MiB of 512 MiB): that of the Slurm job 42");
}

// Fault: P2
TEST(OomWatchV1InAContainer, KnowsTheLimitOfAHiddenAncestor) {
  const OomTree tree(false, "/docker/3f", "/docker/3f");
  tree.kills("/docker/3f", 0);
  tree.fails("/docker/3f", 0);
  tree.limit("/docker/3f", -1);
  tree.put("/docker/3f", "memory.stat",
           "hierarchical_memory_limit " + std::to_string(256 * kMib) + "\ntotal_rss 1");
  Watcher watcher(tree);
  watcher.look();
  tree.kills("/docker/3f", 1);
  EXPECT_EQ(watcher.end(),
            "killed by the memory limit (limit 256 MiB): that of a control group that can't be "
            "seen from here");
}

}  // namespace
}  // namespace probe
