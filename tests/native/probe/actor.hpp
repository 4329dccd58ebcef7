#pragma once
// Real processes that do what a test says, when it says so. Nothing is left of them afterwards.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <utility>

#include "base/clock.hpp"

namespace probe {

inline constexpr std::int64_t kMilli = 1'000'000;  // ns

// Until this process has used `more_ns` of CPU time more.
inline void burn(std::int64_t more_ns) {
  const std::int64_t until = base::clock_ns(CLOCK_PROCESS_CPUTIME_ID) + more_ns;
  while (base::clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until) {
  }
}

// True as soon as `condition` is; false when it isn't within 20 s.
inline bool eventually(const std::function<bool()>& condition) {
  const std::int64_t until = base::monotonic_ns() + 20'000 * kMilli;
  while (!condition()) {
    if (base::monotonic_ns() > until) return false;
    const timespec pause{0, kMilli / 5};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

// What a process of the play is given: tells the test a number, waits for its sign.
class Cue {
 public:
  Cue(int up, int down) : up_(up), down_(down) {}
  void tell(std::int64_t number) const {
    if (::write(up_, &number, sizeof number) != sizeof number) ::_exit(9);
  }
  // One sign wakes one of those who wait.
  void wait() const {
    char sign = 0;
    if (::read(down_, &sign, 1) != 1) ::_exit(9);
  }
  // Waits for a sign that never comes.
  [[noreturn]] void stay() const {
    for (;;) ::pause();
  }

 private:
  int up_;
  int down_;
};

// Memory that is resident, without a sanitizer's shadow of it. Stays until the process ends.
inline void occupy(std::size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  if (::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED) ::_exit(9);
}

// In a process of the play: a child that does `script`. Its pid.
inline pid_t child(const std::function<void()>& script) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  script();
  ::_exit(0);
}

inline void wait_for(pid_t pid) { ::waitpid(pid, nullptr, 0); }

// CPU time of the children this process has waited for.
inline std::int64_t waited_cpu_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto ns = [](const timeval& time) {
    return time.tv_sec * 1'000'000'000 + time.tv_usec * 1000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

inline std::int64_t own_cpu_ns() { return base::clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

// All page faults of this process (RUSAGE_SELF) or of those it waited for.
inline std::int64_t faults_of(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// The root of a tree: a child of the test in a session of its own. Orphans come to the test, which
// is outside of the tree.
class Actor {
 public:
  explicit Actor(const std::function<void(const Cue&)>& script) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::array<int, 2> up{};
    std::array<int, 2> down{};
    if (::pipe2(up.data(), O_CLOEXEC) != 0 || ::pipe2(down.data(), O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setsid();
      ::close(up[0]);
      ::close(down[1]);
      script(Cue(up[1], down[0]));
      ::_exit(0);
    }
    ::close(up[1]);
    ::close(down[0]);
    up_ = up[0];
    down_ = down[1];
  }
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  ~Actor() {
    if (!killed_) ::kill(pid_, SIGKILL);
    ::kill(-pid_, SIGKILL);
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
    ::close(up_);
    ::close(down_);
  }

  [[nodiscard]] pid_t pid() const { return pid_; }

  // The next number that was told; -1 when there is none so soon.
  [[nodiscard]] std::int64_t heard_within(int milliseconds) const {
    pollfd entry{up_, POLLIN, 0};
    return ::poll(&entry, 1, milliseconds) == 1 ? heard() : -1;
  }
  // The next number that was told; -1 (and a failure) when there is none.
  std::int64_t heard() const {
    std::int64_t number = -1;
    pollfd entry{up_, POLLIN, 0};
    if (::poll(&entry, 1, 20'000) != 1 || ::read(up_, &number, sizeof number) != sizeof number) {
      ADD_FAILURE() << "nothing was heard from the process";
      return -1;
    }
    return number;
  }
  void go() const { ASSERT_EQ(::write(down_, "!", 1), 1); }

  // Ends the root and waits for it: afterwards waited_cpu_ns() has grown by its account.
  void kill() {
    killed_ = true;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
  bool killed_ = false;
  int up_ = -1;
  int down_ = -1;
};

}  // namespace probe
