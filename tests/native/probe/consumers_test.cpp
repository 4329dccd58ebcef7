#include "probe/consumers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "host_tree.hpp"
#include "watched_tree.hpp"

namespace probe {
namespace {

// A tree whose lists of consumers are checked against its total.
class WatchedConsumers {
 public:
  explicit WatchedConsumers(pid_t root) : tree(root), told_ns_(tree.cpu_ns()) {}

  // As at an edge.
  record::Consumers take() {
    tree.tick_with_listing();
    return take_now();
  }
  record::Consumers take_now() {
    now_ns_ += kMilli;
    auto consumers = tree.processes().take_consumers(now_ns_);
    std::int64_t sum_ns = consumers.others_cpu_time_ns;
    for (const auto& one : consumers.list) {
      EXPECT_GE(one.cpu_time_ns, 0);
      sum_ns += one.cpu_time_ns;
    }
    EXPECT_EQ(told_ns_ + sum_ns, tree.cpu_ns());
    told_ns_ += sum_ns;
    EXPECT_LE(consumers.list.size(), record::kMostConsumers);
    EXPECT_TRUE(
        std::ranges::is_sorted(consumers.list, std::greater{}, &record::Consumer::cpu_time_ns));
    EXPECT_EQ(consumers.end_ns, now_ns_);
    return consumers;
  }

  WatchedTree tree;

 private:
  std::int64_t told_ns_;
  std::int64_t now_ns_ = base::monotonic_ns() + 1'000 * kMilli;
};

const record::Consumer* find(const record::Consumers& consumers, std::int64_t pid) {
  const auto found = std::ranges::find(consumers.list, pid, &record::Consumer::pid);
  return found == consumers.list.end() ? nullptr : &*found;
}

void expect_used(const record::Consumer* consumer, std::int64_t least_ns) {
  ASSERT_NE(consumer, nullptr);
  EXPECT_GE(consumer->cpu_time_ns, least_ns);
  EXPECT_LE(consumer->cpu_time_ns, least_ns + 10 * kMilli);
}

TEST(Consumers, AreListedByWhatTheyUsedSinceTheLastCall) {
  const Actor actor([](const Cue& cue) {
    burn(30 * kMilli);  // before anybody looks
    const pid_t pid = child([&] {
      ::prctl(PR_SET_NAME, "a) \xff\n(b");
      cue.wait();
      burn(80 * kMilli);
      cue.tell(0);
      cue.stay();
    });
    cue.tell(pid);
    cue.wait();
    burn(40 * kMilli);
    cue.tell(0);
    cue.stay();
  });
  const std::int64_t pid = actor.heard();
  WatchedConsumers watched(actor.pid());
  actor.go();
  actor.go();
  actor.heard();
  actor.heard();
  const auto first = watched.take();
  ASSERT_EQ(first.list.size(), 2U);
  EXPECT_EQ(first.list[0].pid, pid);
  EXPECT_EQ(first.list[0].name, "a) \xff\n(b");
  EXPECT_FALSE(first.list[0].ended);
  EXPECT_GT(first.list[0].memory_bytes, 0);
  EXPECT_GT(first.list[0].start_ticks, 0);
  expect_used(find(first, pid), 80 * kMilli);
  expect_used(find(first, actor.pid()), 40 * kMilli);
  EXPECT_EQ(first.others, 0);
  const auto second = watched.take();
  EXPECT_EQ(second.begin_ns, first.end_ns);
  expect_used(find(second, pid), 0);
}

TEST(Consumers, AreListedWhenTheyHaveEnded) {
  const Actor actor([](const Cue& cue) {
    wait_for(child([&] {
      cue.wait();
      occupy(32 << 20);
      burn(50 * kMilli);
      cue.tell(::getpid());
      cue.wait();
    }));
    cue.tell(0);
    cue.stay();
  });
  WatchedConsumers watched(actor.pid());
  actor.go();
  const std::int64_t pid = actor.heard();
  watched.tree.tick();
  actor.go();
  actor.heard();
  const auto consumers = watched.take();
  ASSERT_NE(find(consumers, pid), nullptr);
  EXPECT_GE(find(consumers, pid)->cpu_time_ns, 50 * kMilli);
  EXPECT_TRUE(find(consumers, pid)->ended);
  EXPECT_GE(find(consumers, pid)->memory_bytes, 32 << 20);
  EXPECT_EQ(find(watched.take(), pid), nullptr);
}

TEST(Consumers, AreToldOnceWhileNobodyWaitsForThem) {
  const Actor actor([](const Cue& cue) {
    const pid_t pid = child([&] {
      cue.wait();  // what it used before anybody watched isn't told
      burn(30 * kMilli);
      cue.tell(0);
      cue.wait();
    });
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    cue.tell(pid);
    cue.wait();
    wait_for(pid);
    cue.tell(0);
    cue.stay();
  });
  WatchedConsumers watched(actor.pid());
  actor.go();
  actor.heard();
  watched.tree.tick();
  actor.go();
  const std::int64_t pid = actor.heard();
  const auto first = watched.take();
  expect_used(find(first, pid), 30 * kMilli);
  EXPECT_TRUE(find(first, pid)->ended);
  EXPECT_GT(find(first, pid)->memory_bytes, 0);
  EXPECT_EQ(find(watched.take(), pid), nullptr);
  actor.go();
  actor.heard();
  EXPECT_EQ(find(watched.take(), pid), nullptr);
}

TEST(Consumers, ThatNoLookHasSeenAreAmongTheOthers) {
  const Actor actor([](const Cue& cue) {
    cue.wait();
    for (int i = 0; i < 20; ++i) wait_for(child([] { burn(5 * kMilli); }));
    cue.tell(0);
    cue.stay();
  });
  WatchedConsumers watched(actor.pid());
  actor.go();
  actor.heard();
  const auto consumers = watched.take();
  EXPECT_EQ(consumers.list.size(), 1U);
  EXPECT_GE(consumers.others_cpu_time_ns, 100 * kMilli - kChildrenSlackNs);
}

TEST(Consumers, AreTheRootTheLargestAndThoseThatUsedMost) {
  const Actor actor([](const Cue& cue) {
    for (int i = 0; i < 16; ++i) {
      child([&, i] {
        cue.wait();
        if (i < 14) burn((5 + i) * kMilli);
        if (i == 14) occupy(64 << 20);
        if (i == 15) occupy(48 << 20);
        cue.tell(i < 14 ? i : -::getpid());
        cue.stay();
      });
    }
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  WatchedConsumers watched(actor.pid());
  for (int i = 0; i < 16; ++i) actor.go();
  std::vector<std::int64_t> large;
  for (int i = 0; i < 16; ++i) {
    const std::int64_t number = actor.heard();
    if (number < 0) large.push_back(-number);
  }
  const auto consumers = watched.take();
  EXPECT_EQ(consumers.list.size(), record::kMostConsumers);
  EXPECT_NE(find(consumers, actor.pid()), nullptr);
  ASSERT_EQ(large.size(), 2U);
  for (const std::int64_t pid : large) {
    ASSERT_NE(find(consumers, pid), nullptr);
    EXPECT_GE(find(consumers, pid)->memory_bytes, 48 << 20);
  }
  const auto largest = Consumers::largest(watched.tree.processes().list());
  ASSERT_EQ(largest.size(), Consumers::kMostLargest);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NE(std::ranges::find(large, largest[i].pid), large.end());
    EXPECT_GE(largest[i].memory_bytes, 48 << 20);
  }
  EXPECT_GE(largest[1].memory_bytes, largest[2].memory_bytes);
  EXPECT_GE(consumers.list[0].cpu_time_ns, 18 * kMilli);
  EXPECT_EQ(consumers.others, 17 - 10);
  EXPECT_GE(consumers.others_cpu_time_ns, (5 + 6 + 7 + 8 + 9 + 10 + 11) * kMilli);
}

TEST(Consumers, AreBoundedWhenManyHaveEnded) {
  constexpr int kChildren = 150;
  static_assert(kChildren > 2 * Consumers::kMostEnded);
  const Actor actor([](const Cue& cue) {
    std::vector<pid_t> pids;
    pids.reserve(kChildren);
    for (int i = 0; i < kChildren; ++i) {
      pids.push_back(child([&, i] {
        if (i == 3) occupy(32 << 20);
        burn((i % 50 == 7 ? 20 : i == 3 ? 1 : 2) * kMilli);
        cue.tell(i == 3 ? ::getpid() : 0);
        cue.wait();
      }));
    }
    for (const pid_t pid : pids) wait_for(pid);
    cue.tell(0);
    cue.stay();
  });
  WatchedConsumers watched(actor.pid());
  std::int64_t large = 0;
  for (int i = 0; i < kChildren; ++i) large = std::max(large, actor.heard());
  watched.tree.tick();
  EXPECT_EQ(watched.tree.size(), 1U + kChildren);
  for (int i = 0; i < kChildren; ++i) actor.go();
  actor.heard();
  watched.tree.tick();
  EXPECT_EQ(watched.tree.size(), 1U);
  const auto consumers = watched.take_now();
  ASSERT_EQ(consumers.list.size(), record::kMostConsumers);
  for (int i = 0; i < 3; ++i) EXPECT_GE(consumers.list[i].cpu_time_ns, 20 * kMilli);
  ASSERT_NE(find(consumers, large), nullptr);
  EXPECT_TRUE(find(consumers, large)->ended);
  EXPECT_EQ(consumers.others, 1 + kChildren - 10);
}

TEST(Consumers, AddUpToTheTotalInAPlayOfChance) {
  const Actor actor([](const Cue& cue) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    cue.wait();
    unsigned chance = 11;
    for (int round = 0; round < 30; ++round) {
      for (int i = 0; i < 4; ++i) {
        chance = chance * 1103515245 + 12345;
        child([chance] {
          child([chance] { burn((chance >> 16) % 5 * kMilli); });
          burn((chance >> 20) % 7 * kMilli);
        });
      }
      while (::wait(nullptr) > 0) {
      }
    }
    cue.tell(0);
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  actor.go();
  std::int64_t told_ns = tree.cpu_ns();
  const auto take = [&] {
    const auto consumers = tree.processes().take_consumers(base::monotonic_ns());
    EXPECT_GE(consumers.others_cpu_time_ns, 0);
    told_ns += consumers.others_cpu_time_ns;
    for (const auto& one : consumers.list) told_ns += one.cpu_time_ns;
    // A child's last use may be told before the total knows of it.
    EXPECT_GE(told_ns, tree.cpu_ns());
    EXPECT_LE(told_ns, tree.cpu_ns() + 20 * kMilli);
  };
  for (int i = 0; i < 200; ++i) {
    tree.tick();
    if (i % 3 == 0) take();
    const timespec pause{0, kMilli};
    ::nanosleep(&pause, nullptr);
  }
  actor.heard();
  tree.tick();
  tree.tick();
  take();
  EXPECT_EQ(told_ns, tree.cpu_ns());
}

TEST(Consumers, BeginAnewAfterALostSampler) {
  const Actor actor([](const Cue& cue) {
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  WatchedTree tree(actor.pid());
  Amounts total = tree.processes().total();
  total.cpu_ns += 500 * kMilli;
  tree.processes().continue_from(total, tree.root_total());
  const auto consumers = tree.processes().take_consumers(base::monotonic_ns());
  ASSERT_EQ(consumers.list.size(), 1U);
  EXPECT_EQ(consumers.others_cpu_time_ns, 0);
}

TEST(Consumers, AreNobodyWithoutATree) {
  MissingList missing;
  Processes nobody("/", 0, 0, missing);
  const auto consumers = nobody.take_consumers(100);
  EXPECT_TRUE(consumers.list.empty());
  EXPECT_EQ(consumers.others_cpu_time_ns, 0);
}

TEST(Consumers, HaveTheNamesOfACapturedTree) {
  const HostTree host;
  host.write_process(20, 1, "jupyter) (kernel");
  host.write_process(21, 20, "a name that is longer than any");
  MissingList missing;
  Processes tree(host.root(), 20, 0, missing);
  const auto consumers = tree.take_consumers(100);
  ASSERT_EQ(consumers.list.size(), 2U);
  EXPECT_EQ(consumers.list[0].name, "jupyter) (kerne");
  EXPECT_EQ(consumers.list[1].name, "a name that is ");
}

}  // namespace
}  // namespace probe
