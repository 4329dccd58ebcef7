// What ended processes leave to the sums of a tree, against what they themselves say they used.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>

#include <thread>

#include "watched_tree.hpp"

namespace probe {
namespace {

// Fault: P7
TEST(EndedProcesses, CountOnceWhenTheyWereWaitedFor) {
  constexpr int kChildren = 10;
  const Actor actor([](const Cue& cue) {
    for (int i = 0; i < kChildren; ++i) {
      const pid_t pid = child([&] {
        burn(37 * kMilli);
        cue.tell(0);
        cue.wait();
        burn(5 * kMilli);
      });
      wait_for(pid);
      cue.tell(own_cpu_ns() + waited_cpu_ns());
      cue.wait();
    }
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  for (int i = 0; i < kChildren; ++i) {
    actor.heard();
    tree.tick();
    EXPECT_EQ(tree.size(), 2U);
    actor.go();
    const std::int64_t used = actor.heard();
    tree.tick();
    EXPECT_EQ(tree.size(), 1U);
    expect_between(tree.cpu_ns(), used, used + kMilli);
    expect_between(tree.root_total().cpu_ns, used, used + kMilli);
    actor.go();
  }
  EXPECT_FALSE(tree.says_lower_bound()) << tree.reason_of("process");
}

// Fault: P7
TEST(EndedProcesses, CountWhenNoTickEverSawThem) {
  const Actor actor([](const Cue& cue) {
    cue.wait();
    for (int i = 0; i < 60; ++i) wait_for(child([] { burn(3 * kMilli); }));
    cue.tell(own_cpu_ns() + waited_cpu_ns());
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  tree.tick();
  actor.go();
  const std::int64_t used = actor.heard();
  tree.tick();
  expect_between(tree.cpu_ns(), used, used + kMilli);
}

TEST(EndedProcesses, StayUntilTheirParentWaitsAndAreZombiesThen) {
  const Actor actor([](const Cue& cue) {
    const pid_t pid = child([] { burn(30 * kMilli); });
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    cue.tell(0);
    cue.wait();
    wait_for(pid);
    cue.tell(own_cpu_ns() + waited_cpu_ns());
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  actor.heard();
  tree.tick();
  ASSERT_EQ(tree.size(), 2U);
  EXPECT_TRUE(tree.processes().list()[1].zombie());
  EXPECT_GE(tree.cpu_ns(), 30 * kMilli);
  EXPECT_EQ(tree.reason_of("process.io"), "");
  actor.go();
  const std::int64_t used = actor.heard();
  tree.tick();
  expect_between(tree.cpu_ns(), used, used + kMilli);
}

// The kernel reaps them, and adds what they used to nobody.
void watch_unwaited(const std::function<void()>& prepare) {
  constexpr int kChildren = 6;
  constexpr int kPages = 250;
  Actor actor([&](const Cue& cue) {
    prepare();
    for (int i = 0; i < kChildren; ++i) {
      child([&] {
        occupy(kPages * static_cast<std::size_t>(::getpagesize()));
        burn(25 * kMilli);
        cue.tell(own_cpu_ns());
        cue.wait();
      });
      while (::wait(nullptr) > 0) {
      }
      cue.tell(own_cpu_ns());
      cue.wait();
    }
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  std::int64_t used_by_children = 0;
  for (int i = 0; i < kChildren; ++i) {
    used_by_children += actor.heard();
    tree.tick();
    actor.go();
    const std::int64_t used = used_by_children + actor.heard();
    ASSERT_TRUE(eventually([&] {  // the kernel takes it away in its own time
      tree.tick();
      return tree.size() == 1;
    }));
    expect_between(tree.cpu_ns(), used, used + 8 * kMilli * (i + 1));  // its own end costs too
    actor.go();
  }
  EXPECT_GE(tree.processes().total().faults[kPageFaults], kChildren * kPages);
  EXPECT_TRUE(tree.says_lower_bound());
  EXPECT_LE(tree.root_total().cpu_ns, tree.cpu_ns() - used_by_children + 2 * kChildrenSlackNs);
}

TEST(EndedProcesses, AreKeptWhenTheParentIgnoresSigchld) {
  watch_unwaited([] { ::signal(SIGCHLD, SIG_IGN); });
}

TEST(EndedProcesses, AreKeptWhenTheParentAsksForNoZombies) {
  watch_unwaited([] {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_NOCLDWAIT | SA_RESTART;
    ::sigaction(SIGCHLD, &action, nullptr);
  });
}

TEST(EndedProcesses, AreKeptWhenSomebodyOutsideReapsAnOrphan) {
  const Actor actor([](const Cue& cue) {
    wait_for(child([&] {
      child([&] {
        burn(40 * kMilli);
        cue.tell(::getpid());
        cue.tell(own_cpu_ns());
        cue.stay();
      });
      cue.wait();
    }));
    cue.tell(0);
    cue.stay();
  });
  const auto orphan = static_cast<pid_t>(actor.heard());
  const std::int64_t used = actor.heard();
  WatchedTree tree(actor.pid());
  ASSERT_TRUE(tree.has(orphan));
  actor.go();
  actor.heard();  // the one between has ended
  tree.tick();
  EXPECT_EQ(tree.size(), 2U);
  EXPECT_FALSE(tree.says_lower_bound());
  ASSERT_EQ(::kill(orphan, SIGKILL), 0);
  ASSERT_EQ(::waitpid(orphan, nullptr, 0), orphan);  // by the test: outside
  tree.tick();
  EXPECT_EQ(tree.size(), 1U);
  EXPECT_GE(tree.cpu_ns(), used);
  EXPECT_TRUE(tree.says_lower_bound());
}

TEST(EndedProcesses, LeaveLivingGrandchildrenInTheTree) {
  Actor actor([](const Cue& cue) {
    const pid_t middle = child([&] {
      child([&] {
        cue.tell(::getpid());
        cue.wait();
        burn(50 * kMilli);
        cue.tell(0);
        cue.wait();
      });
      cue.stay();
    });
    cue.tell(middle);
    wait_for(middle);
    cue.tell(0);
    cue.stay();
  });
  const std::int64_t first = actor.heard();
  const std::int64_t second = actor.heard();
  WatchedTree tree(actor.pid());
  EXPECT_EQ(tree.size(), 3U);
  // Whichever was told first: the middle one is the root's child.
  const Process* process = tree.processes().find(static_cast<pid_t>(first));
  ASSERT_NE(process, nullptr);
  const pid_t middle = static_cast<pid_t>(process->parent() == actor.pid() ? first : second);
  const pid_t grandchild = static_cast<pid_t>(middle == first ? second : first);
  ASSERT_EQ(::kill(middle, SIGKILL), 0);
  actor.heard();
  tree.tick();
  EXPECT_FALSE(tree.has(middle));
  ASSERT_TRUE(tree.has(grandchild));
  EXPECT_EQ(tree.processes().find(grandchild)->parent(), ::getpid());
  const std::int64_t before = tree.cpu_ns();
  actor.go();
  actor.heard();
  tree.tick();
  EXPECT_GE(tree.cpu_ns(), before + 50 * kMilli);
  EXPECT_FALSE(tree.says_lower_bound());
  ::kill(grandchild, SIGKILL);
  ::waitpid(grandchild, nullptr, 0);
  tree.tick();
  EXPECT_EQ(tree.size(), 1U);
  EXPECT_TRUE(tree.says_lower_bound());
}

// A subreaper in the tree waits for orphans: all is in its counters then.
void watch_subreaper(bool tick_between, bool shell_between) {
  Actor actor([&](const Cue& cue) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const auto dying = [&] {
      child([&] {
        burn(60 * kMilli);
        cue.tell(::getpid());
        cue.wait();
      });
      burn(30 * kMilli);
      cue.tell(::getpid());
      cue.wait();
    };
    if (shell_between) {
      child([&] {
        wait_for(child(dying));
        cue.tell(0);
        cue.stay();
      });
      wait_for(-1);  // the orphan
    } else {
      child(dying);
      wait_for(-1);
      wait_for(-1);
    }
    cue.tell(own_cpu_ns() + waited_cpu_ns());
    cue.stay();
  });
  const auto one = static_cast<pid_t>(actor.heard());
  const auto other = static_cast<pid_t>(actor.heard());
  WatchedTree tree(actor.pid());
  tree.tick_with_listing();
  EXPECT_EQ(tree.size(), shell_between ? 4U : 3U);
  const bool one_is_parent = tree.processes().find(other)->parent() == one;
  const pid_t parent = one_is_parent ? one : other;
  const pid_t orphan = one_is_parent ? other : one;
  ::kill(parent, SIGKILL);
  if (shell_between) actor.heard();
  ASSERT_TRUE(eventually([&] {
    if (tick_between) tree.tick();
    return ::kill(parent, 0) != 0;
  }));
  if (tick_between) {
    tree.tick();
    EXPECT_EQ(tree.processes().find(orphan)->parent(), actor.pid());
  }
  ::kill(orphan, SIGKILL);
  const std::int64_t used = actor.heard();
  tree.tick();
  tree.tick();
  const std::int64_t shell = shell_between ? 30 * kMilli : 0;  // waited for, not by the root
  expect_between(tree.cpu_ns(), used + shell, used + shell + 8 * kMilli);
  EXPECT_FALSE(tree.says_lower_bound()) << tree.reason_of("process");
}

TEST(EndedProcesses, CountOnceWhenASubreaperInTheTreeAdoptedThem) { watch_subreaper(true, false); }

TEST(EndedProcesses, CountOnceWhenParentAndOrphanEndBetweenTwoTicks) {
  watch_subreaper(false, false);
}

TEST(EndedProcesses, CountOnceWhenAnAncestorFurtherUpAdoptedThem) { watch_subreaper(true, true); }

TEST(EndedProcesses, CountOnceWhenAnAncestorFurtherUpAdoptedThemBetweenTwoTicks) {
  watch_subreaper(false, true);
}

TEST(EndedProcesses, LeaveTheirBytesOnce) {
  constexpr std::int64_t kBytes = 1'000'000;
  Actor actor([](const Cue& cue) {
    const std::string text(kBytes, 'x');
    const int null = ::open("/dev/null", O_WRONLY);
    for (int i = 0; i < 3; ++i) {
      wait_for(child([&] {
        static_cast<void>(!::write(null, text.data(), text.size()));
        cue.tell(0);
        cue.wait();
      }));
      cue.tell(0);
      cue.wait();
    }
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  // A pipe's reader goes on before its writer's bytes are counted.
  const auto tick_until = [&tree](std::int64_t bytes) {
    for (int i = 0; i < 1000; ++i) {
      tree.tick();
      if (tree.processes().total().io[kIoWriteBytes] >= bytes) return;
      ::sched_yield();
    }
  };
  std::int64_t told = 0;  // the pipe's bytes count too
  for (int i = 1; i <= 3; ++i) {
    actor.heard();
    told += sizeof(std::int64_t);
    tick_until(i * kBytes + told);
    EXPECT_EQ(tree.processes().total().io[kIoWriteBytes], i * kBytes + told);
    actor.go();
    actor.heard();
    told += sizeof(std::int64_t);
    tick_until(i * kBytes + told);
    EXPECT_EQ(tree.processes().total().io[kIoWriteBytes], i * kBytes + told);
    EXPECT_EQ(tree.root_total().io[kIoWriteBytes], i * kBytes + told);
    actor.go();
  }
  EXPECT_EQ(tree.reason_of("process.io"), "");
}

TEST(EndedProcesses, LeaveTheirPageFaultsOnce) {
  constexpr std::size_t kBytes = 4 << 20;
  Actor actor([](const Cue& cue) {
    for (int i = 0; i < 3; ++i) {
      wait_for(child([&] {
        occupy(kBytes);
        cue.tell(0);
        cue.wait();
      }));
      cue.tell(faults_of(RUSAGE_SELF) + faults_of(RUSAGE_CHILDREN));
      cue.wait();
    }
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  std::int64_t before = 0;
  for (int i = 1; i <= 3; ++i) {
    actor.heard();
    tree.tick();
    EXPECT_GT(tree.processes().total().faults[kPageFaults], before);
    actor.go();
    const std::int64_t used = actor.heard();
    tree.tick();
    before = tree.processes().total().faults[kPageFaults];
    EXPECT_GE(before, used);
    EXPECT_LE(before, used + 50);  // to tell it costs some
    EXPECT_EQ(tree.root_total().faults[kPageFaults], before);
    actor.go();
  }
  EXPECT_FALSE(tree.says_lower_bound());
}

TEST(EndedProcesses, KeepWhatTheRootHadUsedWhenItEnds) {
  Actor actor([](const Cue& cue) {
    burn(50 * kMilli);
    cue.tell(0);
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  actor.heard();
  tree.tick();
  const std::int64_t before = tree.cpu_ns();
  const std::int64_t root_before = tree.root_total().cpu_ns;
  EXPECT_GE(before, 50 * kMilli);
  actor.kill();
  tree.tick();
  EXPECT_EQ(tree.size(), 0U);
  EXPECT_EQ(tree.cpu_ns(), before);
  EXPECT_EQ(tree.root_total().cpu_ns, root_before);
}

// Number `pid` for the next process; false where that isn't permitted.
bool choose_next_pid(pid_t pid) {
  const int fd = ::open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
  const std::string text = std::to_string(pid - 1);
  const bool chosen = fd >= 0 && ::write(fd, text.data(), text.size()) > 0;
  ::close(fd);
  return chosen;
}

// Fault: P9
TEST(EndedProcesses, LeaveNothingToAnotherWithTheirNumber) {
  Actor actor([](const Cue& cue) {
    const pid_t first = child([&] {
      burn(80 * kMilli);
      cue.tell(::getpid());
      cue.stay();
    });
    cue.wait();
    ::kill(first, SIGKILL);
    wait_for(first);
    for (int attempt = 0; attempt < 1000; ++attempt) {
      if (!choose_next_pid(first)) break;
      const pid_t second = child([&] {
        if (::getpid() != first) ::_exit(0);
        cue.tell(1);
        cue.stay();
      });
      if (second == first) break;
      wait_for(second);
    }
    cue.tell(own_cpu_ns() + waited_cpu_ns());
    cue.stay();
  });
  const auto number = static_cast<pid_t>(actor.heard());
  if (!choose_next_pid(number + 1000)) GTEST_SKIP() << "ns_last_pid can't be written here";
  WatchedTree tree(actor.pid());
  tree.tick();
  ASSERT_TRUE(tree.has(number));
  const std::int64_t start = tree.processes().find(number)->start_ticks();
  actor.go();
  std::int64_t used = actor.heard();
  if (used == 1) used = actor.heard();
  tree.tick();
  if (!tree.has(number)) GTEST_SKIP() << "the number was taken by somebody else";
  const Process* second = tree.processes().find(number);
  if (start != second->start_ticks()) {  // else within one tick of 10 ms
    EXPECT_LT(second->waited().cpu_ns, 20 * kMilli);
  }
  expect_between(tree.cpu_ns(), used, used + 10 * kMilli);
  EXPECT_FALSE(tree.says_lower_bound()) << tree.reason_of("process");
}

}  // namespace
}  // namespace probe
