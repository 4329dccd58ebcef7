// What ended processes leave to the sums of a tree, whatever happens between two looks.

#include <gtest/gtest.h>

#include "watched_tree.hpp"

namespace probe {
namespace {

// 60 rounds of four children at once, ticks at any moment; whatever `play_child` does, the root
// waits for it or for its orphans in the end.
void watch_play_of_chance(const std::function<void(unsigned)>& play_child) {
  const Actor actor([&](const Cue& cue) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    cue.wait();
    unsigned chance = 7;
    for (int round = 0; round < 60; ++round) {
      for (int i = 0; i < 4; ++i) {
        chance = chance * 1103515245 + 12345;
        child([&] { play_child(chance >> 16); });
      }
      while (::wait(nullptr) > 0) {
      }
    }
    cue.tell(own_cpu_ns() + waited_cpu_ns());
    cue.tell(faults_of(RUSAGE_SELF) + faults_of(RUSAGE_CHILDREN));
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  actor.go();
  for (int i = 0; i < 400; ++i) {
    tree.tick();
    const timespec pause{0, kMilli / 2};
    ::nanosleep(&pause, nullptr);
  }
  const std::int64_t used = actor.heard();
  const std::int64_t faults = actor.heard();
  tree.tick();
  tree.tick();
  EXPECT_EQ(tree.size(), 1U);
  EXPECT_GE(tree.processes().total().faults[kPageFaults], faults);
  EXPECT_LE(tree.processes().total().faults[kPageFaults], faults + 50);
  expect_between(tree.cpu_ns(), used, used + 2 * kMilli);
  expect_between(tree.root_total().cpu_ns, used, used + 2 * kMilli);
  EXPECT_FALSE(tree.says_lower_bound()) << tree.reason_of("process");
}

TEST(EndedProcesses, NeverMakeASumFallInAPlayOfChance) {
  watch_play_of_chance([](unsigned chance) {
    if (chance % 5 == 0) wait_for(child([] { burn(2 * kMilli); }));
    burn(chance % 6 * kMilli);
  });
}

TEST(EndedProcesses, NeverMakeASumFallInAPlayOfOrphans) {
  watch_play_of_chance([](unsigned chance) {
    child([chance] {
      child([chance] { burn(chance % 3 * kMilli); });
      burn(chance % 5 * kMilli);
    });
    burn(chance % 4 * kMilli);
  });
}

}  // namespace
}  // namespace probe
