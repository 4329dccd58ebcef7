#include "probe/processes.hpp"

#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "base/error.hpp"
#include "host_tree.hpp"
#include "watched_tree.hpp"

namespace probe {
namespace {

TEST(Processes, FindsTheTreeThatIsThereAlready) {
  const Actor actor([](const Cue& cue) {
    child([&] {
      child([&] {
        cue.tell(0);
        cue.stay();
      });
      cue.stay();
    });
    cue.stay();
  });
  actor.heard();
  const WatchedTree tree(actor.pid());
  EXPECT_EQ(tree.size(), 3U);
}

TEST(Processes, FindsChildrenOfEveryThreadWithoutListingAll) {
  const Actor actor([](const Cue& cue) {
    cue.wait();
    std::thread([&] {
      child([&] {
        cue.tell(::getpid());
        cue.stay();
      });
      cue.stay();
    }).detach();
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  tree.tick();
  const std::int64_t threads = tree.processes().list()[0].threads();
  actor.go();
  const auto pid = static_cast<pid_t>(actor.heard());
  tree.tick();
  EXPECT_TRUE(tree.has(pid));
  EXPECT_GT(tree.processes().list()[0].threads(), threads);
}

// What lies between the two clones of base::start_hidden(), for as long as it takes.
TEST(Processes, LeavesOutWhoIsBeingStartedAsNobodysChildUntilAProgramRunsThere) {
  const Actor actor([](const Cue& cue) {
    if (::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr) == 0) {
      child([&] {
        cue.tell(::getpid());
        cue.stay();
      });
      cue.tell(::getpid());
      cue.wait();
      ::execlp("sleep", "sleep", "600", nullptr);
    }
    cue.stay();
  });
  const auto one = static_cast<pid_t>(actor.heard());
  const auto other = static_cast<pid_t>(actor.heard());
  WatchedTree tree(actor.pid());
  tree.tick_with_listing();
  EXPECT_EQ(tree.size(), 1U);
  actor.go();
  EXPECT_TRUE(eventually([&] {
    tree.tick();
    return tree.has(one) && tree.has(other);
  }));
}

TEST(Processes, CountsOneWhoseParentWillNotHearOfItsEndAndThatStays) {
  const Actor actor([](const Cue& cue) {
    if (::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr) == 0) cue.tell(::getpid());
    cue.stay();
  });
  const auto pid = static_cast<pid_t>(actor.heard());
  WatchedTree tree(actor.pid());
  EXPECT_TRUE(eventually([&] {
    tree.tick();
    return tree.has(pid);
  }));
}

TEST(Processes, LooksOnlyWhenSomebodyWasStartedAndOnceASecond) {
  const Actor actor([](const Cue& cue) {
    cue.wait();
    child([&] {
      cue.tell(::getpid());
      cue.stay();
    });
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  tree.tick();
  actor.go();
  const auto pid = static_cast<pid_t>(actor.heard());
  tree.tick_quietly();
  EXPECT_FALSE(tree.has(pid));
  tree.tick();
  EXPECT_TRUE(tree.has(pid));
}

TEST(Processes, FindsHundredsAndADeepTree) {
  constexpr int kWide = 300;
  constexpr int kDeep = 60;
  const Actor actor([](const Cue& cue) {
    for (int i = 0; i < kWide; ++i) child([&] { cue.stay(); });
    std::function<void(int)> down = [&](int left) {
      if (left == 0) {
        cue.tell(0);
      } else {
        child([&] { down(left - 1); });
      }
      cue.stay();
    };
    down(kDeep);
  });
  actor.heard();
  WatchedTree tree(actor.pid());
  EXPECT_EQ(tree.size(), 1U + kWide + kDeep);
  tree.tick();
  EXPECT_EQ(tree.size(), 1U + kWide + kDeep);
}

TEST(Processes, TakesInHundredsThatAppearAtOnceInAFewTicks) {
  constexpr int kWide = 600;
  const Actor actor([](const Cue& cue) {
    cue.wait();
    for (int i = 0; i < kWide; ++i) child([&] { cue.stay(); });
    cue.tell(0);
    cue.stay();
  });
  WatchedTree tree(actor.pid());
  actor.go();
  actor.heard();
  tree.tick();
  EXPECT_LT(tree.size(), 1U + kWide);
  for (int i = 0; i < 3; ++i) tree.tick_quietly();
  EXPECT_EQ(tree.size(), 1U + kWide);
}

TEST(Processes, KeepsAChildThatStartsAnotherProgram) {
  const Actor actor([](const Cue& cue) {
    child([&] {
      burn(50 * kMilli);
      cue.tell(::getpid());
      cue.wait();
      ::execl("/bin/sleep", "sleep", "1000", nullptr);
    });
    cue.stay();
  });
  const auto pid = static_cast<pid_t>(actor.heard());
  WatchedTree tree(actor.pid());
  const std::int64_t start = tree.processes().find(pid)->start_ticks();
  const std::int64_t before = tree.processes().find(pid)->resident_bytes();
  actor.go();
  ASSERT_TRUE(eventually([&] {
    tree.tick();
    return tree.processes().find(pid)->resident_bytes() != before;
  }));
  EXPECT_EQ(tree.processes().find(pid)->start_ticks(), start);
  EXPECT_GE(tree.processes().find(pid)->waited().cpu_ns, 50 * kMilli);
}

TEST(Processes, LeavesOutTheExcludedOneAndItsChildren) {
  const Actor actor([](const Cue& cue) {
    const pid_t pid = child([&] {
      child([&] {
        cue.tell(0);
        cue.stay();
      });
      cue.stay();
    });
    cue.tell(pid);
    cue.stay();
  });
  const std::int64_t first = actor.heard();
  const std::int64_t second = actor.heard();
  WatchedTree tree(actor.pid(), static_cast<pid_t>(first + second));
  tree.tick_with_listing();
  EXPECT_EQ(tree.size(), 1U);
}

TEST(Processes, SaysThatTheRootIsNotThere) {
  MissingList missing;
  EXPECT_THROW(Processes("/", 0x3fffffff, 0, missing), base::Error);
  EXPECT_THROW(Processes("/nowhere", 1, 0, missing), base::Error);
}

TEST(Processes, ReadsACapturedTree) {
  const HostTree host;
  host.write_process(1, 0, "init");
  host.write_process(20, 1, "jupyter) (kernel");
  host.write_process(9, 20, "worker");  // a lower number than its parent
  host.write_process(30, 9, "worker");
  host.write_process(40, 1, "stranger");
  MissingList missing;
  Processes tree(host.root(), 20, 0, missing);
  EXPECT_EQ(tree.list().size(), 3U);
  EXPECT_EQ(tree.total().cpu_ns, 3 * 13 * kTickNs);
  EXPECT_EQ(tree.total().io[kIoWriteBytes], 600);
  EXPECT_EQ(tree.listing().processes(), 5);
}

TEST(Processes, TakesOrphansByTheirSessionAndParentsBeforeTheirChildren) {
  const HostTree host;
  host.write_process(1, 0, "init");
  host.write_process(20, 1, "kernel", 20);
  host.write_process(50, 1, "orphan", 20);
  host.write_process(30, 50, "its child", 20);
  host.write_process(60, 1, "stranger", 60);
  MissingList missing;
  Processes tree(host.root(), 20, 0, missing);
  ASSERT_EQ(tree.list().size(), 3U);
  EXPECT_EQ(tree.list()[1].pid(), 50);
  EXPECT_EQ(tree.list()[2].pid(), 30);
}

// A process that is being taken away shows no parent. Whoever waited for it counts it already.
TEST(Processes, CountsOnceWhoWasFirstSeenWhenItWasBeingTakenAway) {
  const HostTree host;
  const auto write_root = [&](int children_ticks) {
    host.write("proc/20/stat", "20 (kernel) S 1 1 20 0 -1 4194560 10 0 0 0 7 3 " +
                                   std::to_string(children_ticks) +
                                   " 0 20 0 2 0 500 4096000 1000 1\n");
  };
  host.write_process(1, 0, "init");
  host.write_process(20, 1, "kernel", 20);
  write_root(3);
  host.write_process(50, 0, "worker", 20);
  host.write("proc/20/task/20/children", "50 ");
  MissingList missing;
  constexpr pid_t kExcluded = 60;
  Processes tree(host.root(), 20, kExcluded, missing);
  ASSERT_EQ(tree.list().size(), 2U);
  EXPECT_EQ(tree.total().cpu_ns, 26 * kTickNs);
  // A stranger has its number now.
  host.write("proc/50/stat",
             "50 (stranger) S 1 1 1 0 -1 4194560 10 0 0 0 7 3 2 1 20 0 2 0 900 4096000 1000 1\n");
  host.write("proc/20/task/20/children", "");
  write_root(3 + 13);
  std::vector<char> buffer(1 << 16);
  for (int i = 1; i < 3; ++i) tree.tick(i, base::monotonic_ns(), buffer);
  EXPECT_EQ(tree.list().size(), 1U);
  EXPECT_EQ(tree.total().cpu_ns, 26 * kTickNs);
  for (const auto& one : missing.list()) EXPECT_NE(one.name, "process") << one.reason;
}

TEST(Processes, SaysThatTheIoOfAnotherUsersProcessIsNotCounted) {
  const HostTree host;
  host.write_process(1, 0, "init");
  host.write_process(20, 1);
  std::filesystem::remove(host.root() + "/proc/20/io");
  MissingList missing;
  Processes tree(host.root(), 20, 0, missing);
  EXPECT_EQ(tree.io_state(), Process::Io::kAbsent);
  ASSERT_FALSE(missing.list().empty());
  EXPECT_EQ(missing.list()[0].name, "process.io_read_bytes");
  EXPECT_EQ(missing.list()[0].state, record::State::kNotSupported);
}

bool become_nobody() {
  constexpr uid_t kNobody = 65534;
  return ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
}

// What another user may see of a process that must not be looked into. 0: as it should be.
int look_as_somebody_else(pid_t root) {
  if (::getuid() == 0 && !become_nobody()) return 1;
  MissingList missing;
  Processes tree("/", root, 0, missing);
  std::vector<char> buffer(1 << 16);
  for (int i = 0; i < 3; ++i) tree.tick(i, base::monotonic_ns(), buffer);
  if (tree.io_state() != Process::Io::kRefused) return 2;
  if (tree.total().cpu_ns < 20 * kMilli) return 3;
  if (tree.list()[0].resident_bytes() == 0) return 4;
  if (missing.list().size() != kIoFields) return 5;
  return missing.list()[0].state == record::State::kNotPermitted ? 0 : 6;
}

TEST(Processes, CountsTheRestWhereIoIsRefused) {
  const Actor actor([](const Cue& cue) {
    ::prctl(PR_SET_DUMPABLE, 0);
    burn(20 * kMilli);
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  const pid_t looker = child([&] { ::_exit(look_as_somebody_else(actor.pid())); });
  int status = 0;
  ASSERT_EQ(::waitpid(looker, &status, 0), looker);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// 0: as it should be; 77: it can't be tried here.
int look_where_processes_are_hidden(pid_t root) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("proc", "/proc", "proc", 0, "hidepid=2") != 0 || !become_nobody()) {
    return 77;
  }
  MissingList missing;
  Processes tree("/", root, 0, missing);
  if (tree.list().size() != 1) return 1;
  if (tree.listing().processes()) return 2;
  const bool said = !missing.list().empty() && missing.list()[0].name == "process" &&
                    missing.list()[0].reason.starts_with("lower bound: ");
  return said ? 0 : 3;
}

TEST(Processes, SaysThatAHiddenChildIsNotCounted) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can hide processes";
  const Actor actor([](const Cue& cue) {
    child([&] { cue.stay(); });
    if (!become_nobody()) ::_exit(9);
    ::prctl(PR_SET_DUMPABLE, 1);
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  const pid_t looker = child([&] { ::_exit(look_where_processes_are_hidden(actor.pid())); });
  int status = 0;
  ASSERT_EQ(::waitpid(looker, &status, 0), looker);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no mount namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Processes, GoesOnFromWhatALostSamplerHadCounted) {
  const Actor actor([](const Cue& cue) {
    burn(30 * kMilli);
    cue.tell(0);
    cue.wait();
    burn(30 * kMilli);
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  WatchedTree tree(actor.pid());
  Amounts last = tree.processes().total();
  const Amounts root = tree.root_total();
  last.cpu_ns += 500 * kMilli;  // of orphans that had ended
  last.io[kIoReadBytes] += 1000;
  tree.processes().continue_from(last, root);
  EXPECT_EQ(tree.cpu_ns(), last.cpu_ns);
  actor.go();
  actor.heard();
  tree.tick();
  EXPECT_GE(tree.cpu_ns(), last.cpu_ns + 30 * kMilli);
  EXPECT_LE(tree.cpu_ns(), last.cpu_ns + 60 * kMilli);
  EXPECT_GE(tree.processes().total().io[kIoReadBytes], last.io[kIoReadBytes]);
}

TEST(Processes, ManagesWithFewDescriptors) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const Actor actor([](const Cue& cue) {
    for (int i = 0; i < 50; ++i) child([&] { cue.stay(); });
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  rlimit few = before;
  few.rlim_cur = 90;  // 26 of them may be kept
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  {
    WatchedTree tree(actor.pid());
    EXPECT_EQ(tree.size(), 51U);
    tree.tick();
    EXPECT_EQ(tree.size(), 51U);
    EXPECT_FALSE(tree.says_lower_bound());
    ::kill(tree.processes().list()[50].pid(), SIGKILL);
    ASSERT_TRUE(eventually([&] {
      tree.tick_with_listing();
      return tree.processes().list().back().zombie();
    }));
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace probe
