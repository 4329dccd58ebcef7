// Processes that are apart from a tree, against what they themselves say they used.

#include <gtest/gtest.h>

#include <algorithm>

#include "watched_tree.hpp"

namespace probe {
namespace {

constexpr std::int64_t kUsedApart = 200 * kMilli;

// What its end costs a process, at most; nobody sees it before it is counted at the parent.
constexpr std::int64_t kEnd = 20 * kMilli;

std::int64_t start_of(pid_t pid, std::span<char> buffer) {
  const ProcDirectory proc("/");
  const auto process = Process::open(pid, {&proc, buffer, true, base::monotonic_ns()});
  return process ? process->start_ticks() : -1;
}

void set_apart(WatchedTree& tree, pid_t pid, bool apart) {
  std::vector<char> buffer(1 << 16);
  tree.processes().set_apart(pid, start_of(pid, buffer), apart, base::monotonic_ns(), buffer);
}

// A root that starts, when told, a child that uses kUsedApart; says so, uses `more_ns` when told
// again, says so, and ends when told a third time. Then it waits for it.
class Spare {
 public:
  explicit Spare(std::int64_t more_ns)
      : actor_([more_ns](const Cue& cue) {
          cue.wait();
          const pid_t pid = child([&] {
            const base::File file = base::File::open("/dev/null", O_WRONLY);
            burn(kUsedApart);
            for (int i = 0; i < 100; ++i) base::write_at(file.fd(), std::string(1000, 'x'), 0);
            cue.tell(::getpid());
            cue.wait();
            burn(more_ns);
            cue.tell(0);
            cue.wait();
          });
          wait_for(pid);
          cue.tell(0);
          cue.stay();
        }) {}

  [[nodiscard]] pid_t root() const { return actor_.pid(); }
  pid_t start() {
    actor_.go();
    pid_ = static_cast<pid_t>(actor_.heard());
    return pid_;
  }
  void go_on() {
    actor_.go();
    actor_.heard();
  }
  // After go_on().
  void end() { go_on(); }
  void kill() {
    ::kill(pid_, SIGKILL);
    actor_.heard();
  }

 private:
  Actor actor_;
  pid_t pid_ = 0;
};

TEST(ApartProcesses, AreInNoFigureWhileTheyAreThere) {
  Spare spare(kUsedApart);
  WatchedTree tree(spare.root());
  tree.tick();
  const pid_t pid = spare.start();
  set_apart(tree, pid, true);
  tree.tick();
  const Amounts before = tree.tick_with_listing();
  EXPECT_EQ(tree.size(), 1U);
  EXPECT_FALSE(tree.has(pid));
  spare.go_on();
  const Amounts& now = tree.tick();
  EXPECT_LT(tree.cpu_ns(), kUsedApart / 2);
  EXPECT_LT(now.io[kIoWriteBytes] - before.io[kIoWriteBytes], 1000);
  const auto list = tree.processes().take_consumers(base::monotonic_ns()).list;
  EXPECT_FALSE(std::ranges::any_of(list, [&](const auto& one) { return one.pid == pid; }));
}

TEST(ApartProcesses, LeaveNothingToWhoWaitsForThem) {
  Spare spare(kUsedApart);
  WatchedTree tree(spare.root());
  set_apart(tree, spare.start(), true);
  spare.go_on();
  tree.tick();
  const Amounts before = tree.tick();
  spare.end();
  for (int i = 0; i < 3; ++i) tree.tick_with_listing();
  EXPECT_LE(tree.cpu_ns(), before.cpu_ns + kEnd);
  EXPECT_LT(tree.processes().total().io[kIoWriteBytes], before.io[kIoWriteBytes] + 1000);
  EXPECT_GE(tree.root_total().cpu_ns, 2 * kUsedApart - kChildrenSlackNs);  // its counters have it
}

TEST(ApartProcesses, LeaveNothingWhenTheyAreKilled) {
  Spare spare(0);
  WatchedTree tree(spare.root());
  set_apart(tree, spare.start(), true);
  const Amounts before = tree.tick();
  spare.kill();
  for (int i = 0; i < 3; ++i) tree.tick_with_listing();
  EXPECT_LE(tree.cpu_ns(), before.cpu_ns + kEnd);
}

TEST(ApartProcesses, CountFromWhenTheyAreTakenIn) {
  constexpr std::int64_t kMore = 100 * kMilli;
  Spare spare(kMore);
  WatchedTree tree(spare.root());
  const pid_t pid = spare.start();
  set_apart(tree, pid, true);
  const std::int64_t before = tree.tick().cpu_ns;
  set_apart(tree, pid, false);
  EXPECT_TRUE(tree.has(pid));
  EXPECT_LT(tree.cpu_ns(), before + kMilli * 10);
  spare.go_on();
  tree.tick();
  expect_between(tree.cpu_ns(), before + kMore, before + kMore + kEnd);
  const auto consumers = tree.processes().take_consumers(base::monotonic_ns());
  const auto found = std::ranges::find(consumers.list, pid, &record::Consumer::pid);
  ASSERT_NE(found, consumers.list.end());
  expect_between(found->cpu_time_ns, kMore, kMore + kEnd);
  spare.end();
  for (int i = 0; i < 3; ++i) tree.tick_with_listing();
  EXPECT_EQ(tree.size(), 1U);
  expect_between(tree.cpu_ns(), before + kMore, before + kMore + kEnd + kChildrenSlackNs);
}

TEST(ApartProcesses, KeepWhatWasCountedBeforeItWasSaid) {
  Spare spare(kUsedApart);
  WatchedTree tree(spare.root());
  const pid_t pid = spare.start();
  const std::int64_t before = tree.tick().cpu_ns;
  EXPECT_GE(before, kUsedApart);
  set_apart(tree, pid, true);
  EXPECT_FALSE(tree.has(pid));
  spare.go_on();
  EXPECT_LT(tree.tick().cpu_ns, before + kEnd);
  spare.end();
  for (int i = 0; i < 3; ++i) tree.tick_with_listing();
  EXPECT_LT(tree.cpu_ns(), before + kEnd);
}

TEST(ApartProcesses, TakeTheirDescendantsWithThem) {
  const Actor actor([](const Cue& cue) {
    const pid_t pid = child([&] {
      cue.wait();
      child([&] {
        burn(kUsedApart);
        cue.tell(0);
        cue.stay();
      });
      cue.stay();
    });
    cue.tell(pid);
    cue.stay();
  });
  const auto pid = static_cast<pid_t>(actor.heard());
  WatchedTree tree(actor.pid());
  set_apart(tree, pid, true);
  actor.go();
  actor.heard();
  tree.tick();
  tree.tick_with_listing();
  EXPECT_EQ(tree.size(), 1U);
  EXPECT_LT(tree.cpu_ns(), kUsedApart / 2);
  set_apart(tree, pid, false);
  EXPECT_EQ(tree.size(), 3U);
  EXPECT_LT(tree.tick().cpu_ns, kUsedApart / 2);
}

TEST(ApartProcesses, StayApartForASamplerThatIsNew) {
  Spare spare(0);
  WatchedTree tree(spare.root());
  const pid_t pid = spare.start();
  set_apart(tree, pid, true);
  tree.tick();
  const Amounts total = tree.processes().total();
  const Amounts root_total = tree.processes().root_total();
  WatchedTree next(spare.root());
  set_apart(next, pid, true);
  next.processes().continue_from(total, root_total);
  EXPECT_LE(next.tick().cpu_ns, total.cpu_ns + kEnd);
  EXPECT_FALSE(next.has(pid));
}

// What the root had inherited is in its counters, and only the lost sampler knew whose it was.
TEST(ApartProcesses, AreNotCountedByANewSamplerThatComesAfterTheirEnd) {
  Spare spare(0);
  WatchedTree tree(spare.root());
  set_apart(tree, spare.start(), true);
  spare.go_on();
  tree.tick();
  spare.end();
  tree.tick();
  const Amounts total = tree.processes().total();
  WatchedTree next(spare.root());
  next.processes().continue_from(total, tree.processes().root_total());
  EXPECT_LE(next.tick().cpu_ns, total.cpu_ns + kMilli * 10);
}

TEST(ApartProcesses, AreAnyNumbersAndTheRootNever) {
  const Actor actor([](const Cue& cue) { cue.stay(); });
  WatchedTree tree(actor.pid());
  std::vector<char> buffer(1 << 16);
  for (int i = 1; i < 100; ++i) tree.processes().set_apart(i, i, true, 0, buffer);
  set_apart(tree, actor.pid(), true);
  tree.tick();
  EXPECT_EQ(tree.size(), 1U);
}

}  // namespace
}  // namespace probe
