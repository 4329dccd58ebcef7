#include "probe/users.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "actor.hpp"
#include "allocations.hpp"
#include "another_user.hpp"
#include "host_tree.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

class Watch {
 public:
  explicit Watch(pid_t root_pid, const std::string& root = "/")
      : proc_(root),
        listing_(proc_),
        capacity_(root, 0),
        users_(root, root_pid, listing_, capacity_, missing_),
        values_(users_.columns().size(), unknown(State::kNotYet)) {
    look();
  }

  // A second later.
  void look() {
    listing_.refresh(buffer_, true);
    read(true);
  }
  void read(bool full) {
    const record::Value cpu_before = values_[0];
    now_ns_ += 1'000 * kMilli;
    users_.read(values_, Turn{now_ns_, full, buffer_});
    if (record::is_known(cpu_before)) {
      EXPECT_GE(values_[0], cpu_before);
    }
  }

  [[nodiscard]] record::Value at(const std::string& metric) const {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (users_.columns()[i].name == "user." + metric) return values_[i];
    }
    ADD_FAILURE() << "no column " << metric;
    return unknown(State::kNotYet);
  }
  [[nodiscard]] bool has(pid_t pid) const {
    return std::ranges::find(users_.list(), pid, &Process::pid) != users_.list().end();
  }
  [[nodiscard]] const record::Missing* said(std::string_view name) const {
    const auto found = std::ranges::find(missing_.list(), name, &record::Missing::name);
    return found == missing_.list().end() ? nullptr : &*found;
  }
  [[nodiscard]] const Users& users() const { return users_; }

 private:
  ProcDirectory proc_;
  Listing listing_;
  Capacity capacity_;
  MissingList missing_;
  Users users_;
  std::vector<record::Value> values_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  std::int64_t now_ns_ = base::monotonic_ns();
};

uid_t owner_of(pid_t pid) {
  struct stat status{};
  return ::stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0 ? status.st_uid : 0;
}

// Counters of ended children are in steps of 10 ms.
void expect_near(std::int64_t counted, std::int64_t used) {
  EXPECT_GE(counted, used - kChildrenSlackNs);
  EXPECT_LE(counted, used + 10 * kMilli);
}

void write_of(const HostTree& host, int pid, int parent, unsigned user, const char* flags = "0") {
  host.write_process(pid, parent);
  const std::string folder = "proc/" + std::to_string(pid) + "/";
  host.write(folder + "status", "Name:\tpython\nUid:\t" + std::to_string(user) + "\t0\t0\t0\n");
  host.write(folder + "stat", std::to_string(pid) + " (python) S " + std::to_string(parent) +
                                  " 1 1 0 -1 " + flags +
                                  " 10 0 0 0 7 3 2 1 20 0 2 0 500 4096000 1000 1\n");
}

TEST(Users, HasTheColumnsThatOthersRelyOn) {
  const Watch watch(::getpid());
  std::string names;
  for (const auto& column : watch.users().columns()) {
    names += (column.kind == record::Kind::kCounter ? "+" : "=") + column.name + " ";
  }
  EXPECT_EQ(names,
            "+user.cpu_time_ns +user.io_read_bytes +user.io_write_bytes +user.io_read_ops "
            "+user.io_write_ops +user.storage_read_bytes +user.storage_write_bytes "
            "=user.memory_bytes =user.memory_is_upper_bound =user.processes =user.threads "
            "=user.capacity_millicores =user.capacity_memory_bytes ");
}

TEST(Users, KnowsEveryValueOfThisMachine) {
  const Watch watch(::getpid());
  for (const auto& column : watch.users().columns()) {
    EXPECT_GT(watch.at(column.name.substr(5)), -1) << column.name;
  }
  EXPECT_TRUE(watch.has(::getpid()));
  EXPECT_EQ(watch.at("memory_is_upper_bound"), 1);
  EXPECT_EQ(watch.at("capacity_millicores"), 1000 * ::sysconf(_SC_NPROCESSORS_ONLN));
}

TEST(Users, IsOurOwnUserWithoutARoot) {
  const Watch watch(0);
  EXPECT_TRUE(watch.has(::getpid()));
}

TEST(Users, LeavesOutKernelThreadsAndStrangers) {
  const HostTree host;
  write_of(host, 1, 0, 7);
  write_of(host, 2, 0, 7, "2129984");  // PF_KTHREAD
  write_of(host, 20, 1, 7);
  write_of(host, 30, 1, 8);
  write_of(host, 40, 30, 7);
  const Watch watch(20, host.root());
  EXPECT_EQ(watch.at("processes"), 3);
  EXPECT_FALSE(watch.has(2));
  EXPECT_FALSE(watch.has(30));
  EXPECT_EQ(watch.at("cpu_time_ns"), 3 * 13 * kTickNs);
  EXPECT_EQ(watch.at("io_read_bytes"), 300);
  EXPECT_EQ(watch.at("threads"), 6);
}

TEST(Users, LooksAtAKernelThreadOnce) {
  const HostTree host;
  write_of(host, 2, 0, 7, "2129984");  // PF_KTHREAD
  write_of(host, 20, 1, 7);
  Watch watch(20, host.root());
  write_of(host, 2, 0, 7);  // whoever looked again would take it
  for (int i = 0; i < 3; ++i) watch.look();
  EXPECT_FALSE(watch.has(2));
  EXPECT_TRUE(watch.has(20));
}

TEST(Users, HasParentsBeforeTheirChildrenWhateverTheirNumbers) {
  const HostTree host;
  write_of(host, 90, 1, 7);
  write_of(host, 70, 90, 7);
  write_of(host, 60, 70, 7);
  write_of(host, 80, 60, 7);
  write_of(host, 50, 50, 7);  // nobody is, but a text may say so
  const Watch watch(90, host.root());
  ASSERT_EQ(watch.users().list().size(), 4U);
  const std::array<pid_t, 4> order{90, 70, 60, 80};
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(watch.users().list()[i].pid(), order[i]);
  }
}

TEST(Users, SaysWhereTheUserCannotBeRead) {
  const HostTree host;
  host.write_process(20, 1);  // no Uid
  const Watch watch(20, host.root());
  EXPECT_EQ(watch.at("cpu_time_ns"), unknown(State::kNotSupported));
  EXPECT_EQ(watch.at("processes"), unknown(State::kNotSupported));
  ASSERT_NE(watch.said("user"), nullptr);
}

TEST(Users, SaysThatIoIsNotCountedHere) {
  const HostTree host;
  write_of(host, 20, 1, 7);
  std::filesystem::remove(host.root() + "/proc/20/io");
  const Watch watch(20, host.root());
  EXPECT_EQ(watch.at("io_read_bytes"), unknown(State::kNotSupported));
  EXPECT_EQ(watch.at("storage_write_bytes"), unknown(State::kNotSupported));
  ASSERT_NE(watch.said("user.io"), nullptr);
  EXPECT_EQ(watch.said("user.io")->state, State::kNotSupported);
  EXPECT_GT(watch.at("cpu_time_ns"), 0);
}

TEST(Users, RepeatsItsValuesBetweenFullTurns) {
  Watch watch(::getpid());
  const record::Value before = watch.at("cpu_time_ns");
  burn(5 * kMilli);
  watch.read(false);
  EXPECT_EQ(watch.at("cpu_time_ns"), before);
  watch.read(true);
  EXPECT_GE(watch.at("cpu_time_ns"), before + 5 * kMilli);
}

class UsersOfAMadeUpUser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  }
  const uid_t user_ = made_up_user();
};

TEST_F(UsersOfAMadeUpUser, CountsTreeAndOthersOfTheSameUserOnly) {
  const Actor actor([&](const Cue& cue) {
    const auto play = [&](uid_t user) {
      return child([&] {
        become(user);
        child([&] {
          burn(30 * kMilli);
          occupy(8 << 20);
          cue.tell(own_cpu_ns());
          cue.stay();
        });
        cue.stay();
      });
    };
    std::array<pid_t, 3> pids{play(user_), play(user_), play(user_ + 1)};
    for (const pid_t pid : pids) cue.tell(-pid);
    cue.stay();
  });
  std::vector<pid_t> pids;
  std::int64_t used = 0;
  for (int i = 0; i < 6; ++i) {
    const std::int64_t number = actor.heard();
    if (number < 0) pids.push_back(static_cast<pid_t>(-number));
    if (number > 0) used += number;
  }
  ASSERT_EQ(pids.size(), 3U);
  const Watch watch(pids[0]);
  EXPECT_EQ(watch.at("processes"), 4);
  EXPECT_GE(watch.at("threads"), 4);  // a sanitizer may have some
  EXPECT_TRUE(watch.has(pids[1]));
  EXPECT_FALSE(watch.has(pids[2]));
  EXPECT_GE(watch.at("memory_bytes"), 16 << 20);
  EXPECT_GE(watch.at("cpu_time_ns"), 60 * kMilli);
  EXPECT_LE(watch.at("cpu_time_ns"), used);
}

TEST_F(UsersOfAMadeUpUser, KeepsWhatEndedOnesUsed) {
  const Actor actor([&](const Cue& cue) {
    become(user_);
    cue.tell(0);
    for (int i = 0; i < 3; ++i) {
      wait_for(child([&] {
        burn(40 * kMilli);
        cue.tell(0);
        cue.wait();
        burn(7 * kMilli);
      }));
      cue.tell(own_cpu_ns() + waited_cpu_ns());
      cue.wait();
    }
    cue.stay();
  });
  actor.heard();
  Watch watch(actor.pid());
  for (int i = 0; i < 3; ++i) {
    actor.heard();
    watch.look();
    EXPECT_EQ(watch.at("processes"), 2);
    actor.go();
    const std::int64_t used = actor.heard();
    watch.look();
    EXPECT_EQ(watch.at("processes"), 1);
    expect_near(watch.at("cpu_time_ns"), used);
    actor.go();
  }
  EXPECT_EQ(watch.said("user"), nullptr);
}

TEST_F(UsersOfAMadeUpUser, SaysWhenWhoeverWaitedForOneWasAnothers) {
  Actor actor([&](const Cue& cue) {
    become(user_);
    burn(40 * kMilli);
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  Watch watch(actor.pid());
  const record::Value used = watch.at("cpu_time_ns");
  EXPECT_GE(used, 40 * kMilli);
  actor.kill();  // and the test, another user, waits for it
  watch.look();
  EXPECT_EQ(watch.at("processes"), 0);
  EXPECT_EQ(watch.at("memory_bytes"), unknown(State::kVanished));
  EXPECT_GE(watch.at("cpu_time_ns"), used);
  ASSERT_NE(watch.said("user"), nullptr);
  EXPECT_EQ(watch.said("user")->state, State::kMeasured);
  EXPECT_GT(watch.said("user")->time_ns, 0);
  EXPECT_TRUE(watch.said("user")->reason.starts_with(kLowerBound));
}

TEST_F(UsersOfAMadeUpUser, AllocatesNothingWhileNobodyComes) {
  const Actor actor([&](const Cue& cue) {
    become(user_);
    for (int i = 0; i < 30; ++i) child([&] { cue.stay(); });
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  Watch watch(actor.pid());
  EXPECT_EQ(watch.at("processes"), 31);
  watch.look();
  const std::int64_t before = allocations();
  for (int i = 0; i < 50; ++i) watch.read(true);
  EXPECT_EQ(allocations(), before);
}

// sudo and the like.
TEST_F(UsersOfAMadeUpUser, TakesWhoWasStartedByTheUserAndRunsAsSomebodyElse) {
  const Actor actor([&](const Cue& cue) {
    child([&] {
      if (::setresuid(user_, 0, 0) != 0) ::_exit(9);
      cue.tell(::getpid());
      cue.stay();
    });
    child([&] {
      become(user_ + 1);
      cue.tell(::getpid());
      cue.stay();
    });
    become(user_);
    cue.tell(0);
    cue.stay();
  });
  const std::int64_t pids = actor.heard() + actor.heard() + actor.heard();
  Watch watch(actor.pid());
  watch.look();
  ASSERT_EQ(watch.at("processes"), 2);
  EXPECT_NE(watch.users().list()[1].pid() + actor.pid(), pids);  // the other one is a stranger
}

TEST_F(UsersOfAMadeUpUser, FindsWhoBecomesTheUserAfterItWasStarted) {
  const Actor actor([&](const Cue& cue) {
    const pid_t pid = child([&] {
      become(user_);
      cue.stay();
    });
    cue.tell(pid);
    cue.wait();
    become(user_);
    cue.tell(0);
    cue.stay();
  });
  const auto pid = static_cast<pid_t>(actor.heard());
  ASSERT_TRUE(eventually([&] { return owner_of(pid) == user_; }));
  Watch watch(pid);
  EXPECT_EQ(watch.at("processes"), 1);
  actor.go();
  actor.heard();
  watch.look();
  EXPECT_EQ(watch.at("processes"), 2);
}

TEST_F(UsersOfAMadeUpUser, CountsWhatStartedAndEndedBetweenTwoLooks) {
  const Actor actor([&](const Cue& cue) {
    become(user_);
    cue.tell(0);
    cue.wait();
    for (int i = 0; i < 20; ++i) wait_for(child([] { burn(5 * kMilli); }));
    cue.tell(own_cpu_ns() + waited_cpu_ns());
    cue.stay();
  });
  actor.heard();
  Watch watch(actor.pid());
  actor.go();
  const std::int64_t used = actor.heard();
  watch.look();
  expect_near(watch.at("cpu_time_ns"), used);
}

// 0: as it should be.
int look_as_the_user(uid_t user, pid_t root) {
  become(user);
  const Watch watch(root);
  if (watch.at("processes") != 3) return 1;  // and this one
  if (watch.at("cpu_time_ns") < 40 * kMilli) return 2;
  if (!record::is_known(watch.at("io_read_bytes"))) return 3;
  const auto* said = watch.said("user.io");
  if (said == nullptr || said->state != State::kNotPermitted) return 4;
  return said->reason.starts_with(kLowerBound) && watch.said("user.storage") != nullptr ? 0 : 5;
}

TEST_F(UsersOfAMadeUpUser, CountsTheRestOfWhoMustNotBeLookedInto) {
  const Actor actor([&](const Cue& cue) {
    become(user_);
    child([&] {
      ::prctl(PR_SET_DUMPABLE, 0);
      burn(40 * kMilli);
      cue.tell(0);
      cue.stay();
    });
    cue.stay();
  });
  actor.heard();
  const pid_t looker = child([&] { ::_exit(look_as_the_user(user_, actor.pid())); });
  int status = 0;
  ASSERT_EQ(::waitpid(looker, &status, 0), looker);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace probe
