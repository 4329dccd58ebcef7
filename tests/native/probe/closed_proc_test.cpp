// What is measured where /proc doesn't show everything: hidepid, subset=pid, files that are
// refused.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <string>

#include "another_user.hpp"
#include "probe/sampler.hpp"
#include "watched_tree.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

// In a process of the play; it ends with 77 when it can't be tried here.
void mount_proc(const char* options) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("proc", "/proc", "proc", 0, options) != 0) {
    ::_exit(77);
  }
}

// A sampler in the process that looks, and what it must have found.
class Look {
 public:
  explicit Look(pid_t root_pid)
      : sampler_(
            SamplerOptions{.root_pid = root_pid, .excluded_pid = ::getpid(), .job_level = false}) {
    sample_.values.resize(sampler_.columns().size());
    sample_.flags = record::kEdgeSample;
  }

  void tick() {
    if (sampler_.columns_changed()) sample_.values.resize(sampler_.columns().size());
    sampler_.tick(sample_, base::monotonic_ns());
  }
  [[nodiscard]] record::Value at(std::string_view name) const {
    for (std::size_t i = 0; i < sample_.values.size(); ++i) {
      if (sampler_.columns()[i].name == name) return sample_.values[i];
    }
    return unknown(State::kNotYet);
  }
  [[nodiscard]] const record::Missing* said(std::string_view name) const {
    const auto& all = sampler_.missing();
    const auto found = std::ranges::find(all, name, &record::Missing::name);
    return found == all.end() ? nullptr : &*found;
  }
  [[nodiscard]] std::size_t times_said(std::string_view name) const {
    return static_cast<std::size_t>(
        std::ranges::count(sampler_.missing(), name, &record::Missing::name));
  }
  [[nodiscard]] bool says(std::string_view name, State state, std::string_view begin) const {
    const auto* missing = said(name);
    return missing != nullptr && missing->state == state && missing->reason.starts_with(begin);
  }

 private:
  Sampler sampler_;
  record::Sample sample_;
};

// Each check has a number, so that the exit status of the process that looks tells which failed.
#define CHECK_HERE(number, condition) \
  if (!(condition)) return number

class ClosedProc : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) GTEST_SKIP() << "only root can be somebody else and mount";
  }

  // Runs `look` as the user, with a /proc mounted so; nullptr: the machine's own.
  static void look_as(uid_t user, const char* options, const std::function<int()>& look) {
    const pid_t looker = child([&] {
      if (options != nullptr) mount_proc(options);
      become(user);
      ::_exit(look());
    });
    int status = 0;
    ASSERT_EQ(::waitpid(looker, &status, 0), looker);
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no such /proc can be mounted here";
    EXPECT_EQ(status, 0) << WEXITSTATUS(status);
  }

  const uid_t user_ = made_up_user();
};

// Two children that burn and say how much.
std::function<void(const Cue&)> busy_children(uid_t user) {
  return [user](const Cue& cue) {
    become(user);
    for (int i = 0; i < 2; ++i) {
      child([&] {
        occupy(4 << 20);
        cue.tell(0);
        cue.wait();
        burn(40 * kMilli);
        cue.tell(0);
        cue.stay();
      });
    }
    cue.stay();
  };
}

// Process and user level are right wherever the user's own processes show.
int look_at_busy_children(const Actor& actor, bool node_is_told) {
  Look look(actor.pid());
  look.tick();
  const record::Value before = look.at("process.cpu_time_ns");
  const record::Value user_before = look.at("user.cpu_time_ns");
  for (int i = 0; i < 2; ++i) actor.go();
  for (int i = 0; i < 2; ++i) actor.heard();
  for (int i = 0; i < 20; ++i) look.tick();
  CHECK_HERE(1, look.at("process.processes") == 3);
  CHECK_HERE(2, look.at("process.cpu_time_ns") - before >= 80 * kMilli);
  CHECK_HERE(3, look.at("process.cpu_time_ns") - before <= 100 * kMilli);
  CHECK_HERE(4, look.at("process.rss_bytes") >= 8 << 20);
  CHECK_HERE(5, look.at("process.io_write_bytes") > 0);
  CHECK_HERE(6, look.at("user.processes") >= 4);  // and the one that looks
  CHECK_HERE(7, look.at("user.cpu_time_ns") - user_before >= 80 * kMilli);
  CHECK_HERE(8, look.at("user.io_read_bytes") >= 0);
  CHECK_HERE(9, look.said("process") == nullptr);
  if (node_is_told) {
    CHECK_HERE(10, look.at("node.cpu_time_ns") > 0);
    CHECK_HERE(11, look.at("node.memory_bytes") > 0);
  } else {
    CHECK_HERE(12, look.at("node.cpu_time_ns") == unknown(State::kNotSupported));
    CHECK_HERE(13, look.says("node.cpu_time_ns", State::kNotSupported, ""));
  }
  CHECK_HERE(14, look.times_said("node.processes") <= 1);
  return 0;
}

TEST_F(ClosedProc, ShowsTheUsersOwnProcessesWhereOthersCannotBeRead) {
  for (const char* options : {"hidepid=1", "hidepid=2", "hidepid=4"}) {
    SCOPED_TRACE(options);
    const Actor actor(busy_children(user_));
    for (int i = 0; i < 2; ++i) actor.heard();
    look_as(user_, options, [&] { return look_at_busy_children(actor, true); });
  }
}

TEST_F(ClosedProc, SaysThatTheNodesProcessesCannotBeCounted) {
  const Actor actor(busy_children(user_));
  for (int i = 0; i < 2; ++i) actor.heard();
  look_as(user_, "hidepid=2", [&] {
    Look look(actor.pid());
    for (int i = 0; i < 3; ++i) look.tick();
    CHECK_HERE(1, look.at("node.processes") == unknown(State::kNotPermitted));
    CHECK_HERE(2, look.says("node.processes", State::kNotPermitted, "/proc shows only some"));
    CHECK_HERE(3, look.times_said("node.processes") == 1);
    return 0;
  });
}

TEST_F(ClosedProc, HasProcessesButNothingOfTheNodeInASubset) {
  const Actor actor(busy_children(user_));
  for (int i = 0; i < 2; ++i) actor.heard();
  look_as(user_, "subset=pid", [&] { return look_at_busy_children(actor, false); });
}

// A tree and what is said of it, a second from tick to tick.
class SlowTree {
 public:
  explicit SlowTree(pid_t root) : tree_("/", root, 0, missing_) {}
  Processes& tick() {
    now_ns_ += 1'000 * kMilli;
    tree_.tick(++forks_, now_ns_, buffer_);
    return tree_;
  }
  [[nodiscard]] const std::vector<record::Missing>& said() const { return missing_.list(); }
  [[nodiscard]] bool lasts(std::size_t place, std::string_view name) const {
    const auto& all = said();
    return place < all.size() && all[place].name == name &&
           all[place].state == State::kNotPermitted && all[place].reason.starts_with(kLowerBound);
  }
  [[nodiscard]] bool is_over(std::size_t place, std::string_view name) const {
    const auto& all = said();
    return place < all.size() && all[place].name == name && all[place].state == State::kMeasured &&
           all[place].reason.empty();
  }

 private:
  MissingList missing_;
  Processes tree_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  std::int64_t now_ns_ = base::monotonic_ns();
  std::int64_t forks_ = 0;
};

// Fault: P10
TEST_F(ClosedProc, HidesAChildOfAnotherUserWhichIsSaidWhileItLives) {
  const Actor actor([&](const Cue& cue) {
    const pid_t hidden = child([&] { cue.wait(); });
    become(user_);
    cue.tell(0);
    wait_for(hidden);
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  look_as(user_, "hidepid=2", [&] {
    SlowTree tree(actor.pid());
    for (int i = 0; i < 5; ++i) tree.tick();
    CHECK_HERE(1, tree.said().size() == 1 && tree.lasts(0, "process"));
    actor.go();
    actor.heard();
    for (int i = 0; i < 5; ++i) tree.tick();
    CHECK_HERE(2, tree.said().size() == 2 && tree.is_over(1, "process"));
    return 0;
  });
}

// The child runs as another user, or must not be looked into: only its I/O is refused.
void watch_refused_child(uid_t user, const std::function<void()>& close,
                         const std::function<void(const std::function<int()>&)>& look) {
  constexpr std::int64_t kBytes = 1'000'000;
  const Actor actor([&](const Cue& cue) {
    const pid_t pid = child([&] {
      close();
      const std::string text(kBytes, 'x');
      static_cast<void>(!::write(::open("/dev/null", O_WRONLY), text.data(), text.size()));
      occupy(16 << 20);
      burn(40 * kMilli);
      cue.tell(0);
      cue.wait();
    });
    become(user);
    cue.tell(0);
    wait_for(pid);
    cue.tell(0);
    cue.stay();
  });
  for (int i = 0; i < 2; ++i) actor.heard();
  look([&] {
    SlowTree slow(actor.pid());
    const Processes& tree = slow.tick();
    slow.tick();
    CHECK_HERE(1, tree.list().size() == 2);
    CHECK_HERE(2, tree.list()[1].io_state() == Process::Io::kRefused);
    CHECK_HERE(3, tree.list()[1].waited().cpu_ns >= 40 * kMilli);
    CHECK_HERE(4, tree.list()[1].resident_bytes() >= 16 << 20);
    CHECK_HERE(5, tree.total().faults[kPageFaults] >= 0);
    CHECK_HERE(6, tree.io_state() == Process::Io::kRead);
    CHECK_HERE(7, tree.total().io[kIoWriteBytes] > 0);
    CHECK_HERE(8, tree.total().io[kIoWriteBytes] < kBytes);
    CHECK_HERE(9, slow.said().size() == 2);
    CHECK_HERE(10, slow.lasts(0, "process.io") && slow.lasts(1, "process.storage"));
    actor.go();
    actor.heard();
    for (int i = 0; i < 3; ++i) slow.tick();
    // Its parent has waited for it, so that all is counted.
    CHECK_HERE(11, tree.total().io[kIoWriteBytes] >= kBytes);
    CHECK_HERE(12, slow.said().size() == 4);
    CHECK_HERE(13, slow.is_over(2, "process.io") && slow.is_over(3, "process.storage"));
    return 0;
  });
}

// Fault: P10
TEST_F(ClosedProc, RefusesOnlyTheIoOfAChildThatRunsAsAnotherUser) {
  watch_refused_child(
      user_, [&] { become(user_ + 1); }, [&](const auto& look) { look_as(user_, nullptr, look); });
}

TEST_F(ClosedProc, RefusesOnlyTheIoOfAChildThatMustNotBeLookedInto) {
  watch_refused_child(
      user_,
      [&] {
        become(user_);
        ::prctl(PR_SET_DUMPABLE, 0);
      },
      [&](const auto& look) { look_as(user_, nullptr, look); });
}

// Fault: P10
TEST_F(ClosedProc, ShowsAChildThatHasMovedToAnotherSessionAndNamespace) {
  const Actor actor([&](const Cue& cue) {
    child([&] {
      ::setsid();
      if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(9);
      child([&] {
        ::setsid();
        burn(40 * kMilli);
        cue.tell(::getpid());
        cue.stay();
      });
      cue.stay();
    });
    cue.stay();
  });
  EXPECT_EQ(actor.heard(), 1);  // in its own
  WatchedTree tree(actor.pid());
  tree.tick_with_listing();
  EXPECT_EQ(tree.size(), 3U);
  EXPECT_GE(tree.cpu_ns(), 40 * kMilli);
  EXPECT_FALSE(tree.says_lower_bound());
  for (const auto& process : tree.processes().list()) ::kill(process.pid(), SIGKILL);
}

}  // namespace
}  // namespace probe
