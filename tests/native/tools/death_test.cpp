#include "tools/death.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/file.hpp"
#include "base/process.hpp"
#include "record/text.hpp"

namespace tools {
namespace {

std::int64_t start_ticks_of(pid_t pid) {
  const auto stat = base::read_small_file("/proc/" + std::to_string(pid) + "/stat").value();
  std::int64_t ticks = -1;
  std::size_t at = stat.rfind(')') + 2;
  for (int field = 3; field < 22; ++field) at = stat.find(' ', at) + 1;
  ticks = std::stoll(stat.substr(at));
  return ticks;
}

// A child that waits for a byte, then ends by `end`.
class Victim {
 public:
  explicit Victim(void (*end)()) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      char byte = 0;
      if (::read(ends[0], &byte, 1) == 1) end();
      ::_exit(99);
    }
    ::close(ends[0]);
    go_ = base::File(ends[1]);
    pidfd_ = base::open_pidfd(pid_);
    start_ticks_ = start_ticks_of(pid_);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  ~Victim() { reap(); }
  void die() {
    EXPECT_EQ(::write(go_.fd(), "x", 1), 1);
    pollfd entry{pidfd_.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, 20'000), 1);
  }
  void reap() {
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    gone_ = std::exchange(pid_, -1);
  }
  [[nodiscard]] std::string cause() const {
    return record::end_text(end_of(pid_ > 0 ? pid_ : gone_, start_ticks_, pidfd_.fd()));
  }

 private:
  pid_t pid_ = -1;
  pid_t gone_ = -1;
  base::File go_;
  base::File pidfd_;
  std::int64_t start_ticks_ = 0;
};

// Fault: P1
TEST(EndOf, ReadsTheCauseFromAZombie) {
  Victim exits([] { ::_exit(3); });
  exits.die();
  EXPECT_EQ(exits.cause(), "exited with status 3");
  Victim killed([] { ::raise(SIGKILL); });
  killed.die();
  EXPECT_EQ(killed.cause(), "killed by signal 9 (SIGKILL)");
}

// Fault: P1
TEST(EndOf, AsksTheKernelOrSaysThatItIsUnknownOnceItIsReaped) {
  Victim killed([] { ::raise(SIGTERM); });
  killed.die();
  killed.reap();
  const std::string cause = killed.cause();  // Linux 6.15 remembers it, older ones don't
  EXPECT_TRUE(cause == "killed by signal 15 (SIGTERM)" ||
              cause == "ended for an unknown reason: reaped first")
      << cause;
}

TEST(ZombieWaitStatus, BelievesOnlyTheZombieThatWasMeant) {
  std::string stat = "12 (a) Z 1) R) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777";
  for (int field = 23; field < 52; ++field) stat += " 0";
  stat += " 9\n";
  EXPECT_EQ(zombie_wait_status(stat, 777), 9);
  EXPECT_EQ(zombie_wait_status(stat, 778), -1);
  for (std::size_t size = 0; size < stat.size() - 2; ++size) {
    EXPECT_EQ(zombie_wait_status(std::string_view(stat).substr(0, size), 777), -1) << size;
  }
  EXPECT_EQ(zombie_wait_status("12 (a) R 1", 777), -1);
  EXPECT_EQ(zombie_wait_status("", 777), -1);
  stat.replace(stat.rfind('9'), 1, "-7");
  EXPECT_EQ(zombie_wait_status(stat, 777), -1);
  stat.replace(stat.rfind("-7"), 2, "9");
  stat.replace(stat.rfind("777"), 3, "x");
  EXPECT_EQ(zombie_wait_status(stat, -1), -1);
}

}  // namespace
}  // namespace tools
