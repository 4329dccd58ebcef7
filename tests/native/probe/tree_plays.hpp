#pragma once
// Large and restless trees, small and large versions of them: what is counted against what the
// kernel tells the processes themselves (getrusage), within 1 %, or it is said.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "watched_tree.hpp"

namespace probe {

// Children's times are shown in two fields of 10 ms each.
inline void expect_within_a_percent(std::int64_t counted, std::int64_t used) {
  EXPECT_GE(counted, used - used / 100 - kChildrenSlackNs);
  EXPECT_LE(counted, used + used / 100);
}

// `wide` children of the root and a chain of `deep` below it; each uses 1 ms, is seen, uses another
// and ends.
inline void watch_large_tree(int wide, int deep) {
  const Actor actor([&](const Cue& cue) {
    const auto live = [&] {
      burn(kMilli);
      cue.tell(0);
      cue.wait();
      burn(kMilli);
    };
    const std::function<void(int)> down = [&](int left) {
      const pid_t below = left > 1 ? child([&] { down(left - 1); }) : 0;
      live();
      if (below > 0) wait_for(below);
    };
    cue.wait();
    for (int i = 0; i < wide; ++i) child(live);
    child([&] { down(deep); });
    while (::wait(nullptr) > 0) {
    }
    cue.tell(own_cpu_ns() + waited_cpu_ns());
    cue.stay();
  });
  const int all = wide + deep;
  WatchedTree tree(actor.pid());
  actor.go();
  for (int i = 0; i < all; ++i) {
    actor.heard();
    if (i % 100 == 99) tree.tick();
  }
  for (int i = 0; i < 2 + all / 256; ++i) tree.tick();
  EXPECT_EQ(tree.size(), 1U + static_cast<std::size_t>(all));
  EXPECT_GE(tree.cpu_ns(), all * kMilli);
  for (int i = 0; i < all; ++i) {
    actor.go();
    if (i % 100 == 50) tree.tick();
  }
  const std::int64_t used = actor.heard();
  tree.tick();
  EXPECT_EQ(tree.size(), 1U);
  expect_within_a_percent(tree.cpu_ns(), used);
  EXPECT_FALSE(tree.says_lower_bound()) << tree.reason_of("process");
}

// As cheap as a start can be: no copy of the memory.
[[gnu::noinline]] inline void start_and_wait() {
  const pid_t pid = ::vfork();
  if (pid == 0) ::_exit(0);
  wait_for(pid);
}

// For so long, each of `workers` processes starts children that end at once, one after the other.
// Returns how many started in a second.
inline double watch_short_lived(int workers, int milliseconds) {
  const Actor actor([&](const Cue& cue) {
    cue.wait();
    const std::int64_t until_ns = base::monotonic_ns() + milliseconds * kMilli;
    for (int worker = 0; worker < workers; ++worker) {
      child([&] {
        std::int64_t count = 0;
        for (; base::monotonic_ns() < until_ns; ++count) start_and_wait();
        cue.tell(count);
      });
    }
    while (::wait(nullptr) > 0) {
    }
    cue.tell(own_cpu_ns() + waited_cpu_ns());
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  actor.go();
  std::int64_t started = 0;
  for (int told = 0; told < workers;) {
    tree.tick();
    const std::int64_t count = actor.heard_within(10);
    if (count < 0) continue;
    started += count;
    ++told;
  }
  const std::int64_t used = actor.heard();
  tree.tick();
  EXPECT_EQ(tree.size(), 1U);
  expect_within_a_percent(tree.cpu_ns(), used);
  EXPECT_FALSE(tree.says_lower_bound()) << tree.reason_of("process");
  return static_cast<double>(started) * 1000 / milliseconds;
}

// The same of orphans that nobody in the tree waits for: what is counted is no more than was used,
// and it is said that it is less.
inline void watch_short_lived_orphans(int count) {
  const Actor actor([&](const Cue& cue) {
    cue.wait();
    for (int i = 0; i < count; ++i) {
      wait_for(child([] { child([] { burn(kMilli / 2); }); }));
    }
    cue.tell(0);
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  const std::int64_t before = waited_cpu_ns();
  actor.go();
  while (actor.heard_within(5) < 0) tree.tick();
  tree.tick_with_listing();
  // The orphans came to the test.
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  const std::int64_t root_used = tree.root_total().cpu_ns;
  EXPECT_LE(tree.cpu_ns(), root_used + waited_cpu_ns() - before + kChildrenSlackNs);
  tree.tick();
}

}  // namespace probe
