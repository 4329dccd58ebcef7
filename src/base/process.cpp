#include "base/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failpoint.hpp"

#ifdef __SANITIZE_THREAD__
// The same function by the name that the sanitizer doesn't intercept: it takes the child for a
// fork.
extern "C" int __clone(int (*)(void*), void*, int, void*,
                       ...);  // NOLINT(bugprone-reserved-identifier)
#endif

namespace base {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr auto* start_clone = &__clone;
#else
constexpr auto* start_clone = &::clone;
#endif

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr int kMostDescriptors = 8;
constexpr int kFirstInherited = 3;

// Everything the two children touch; they share this memory with the (suspended) parent.
struct Start {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  std::span<const int> descriptors;
  char* inner_stack_top = nullptr;
  pid_t pid = -1;
  int pidfd = -1;
  int error = 0;
};

// The two children share this process's memory, also what a sanitizer knows of the thread that
// waits for them: nothing in them is instrumented or intercepted, every call is the system's own.
#define JUMPER_IN_CHILD __attribute__((no_sanitize("thread")))

[[noreturn]] JUMPER_IN_CHILD void leave(int status) noexcept {
  for (;;) ::syscall(SYS_exit_group, status);
}

JUMPER_IN_CHILD void close_from(unsigned first) noexcept {
  if (::syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  // Before Linux 5.9: one by one up to the limit.
  rlimit limit{};
  const bool known = ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) == 0;
  const rlim_t most = known && limit.rlim_cur < 65536 ? limit.rlim_cur : 65536;
  for (rlim_t fd = first; fd < most; ++fd) ::syscall(SYS_close, static_cast<int>(fd));
}

// In the inner child, until exec.
JUMPER_IN_CHILD int inner_child(void* argument) noexcept {
  auto& start = *static_cast<Start*>(argument);
  // The system's own structs, all zero: SIG_DFL, and no signal blocked. Not through glibc, which
  // keeps signals 32 and 33 to itself, so that a parent's SIG_IGN for them would be inherited.
  constexpr std::array<unsigned long, 8> kZero{};
  constexpr std::size_t kMaskBytes = 8;
  for (int signal = 1; signal < NSIG; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, kZero.data(), nullptr, kMaskBytes);
  }
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, kZero.data(), nullptr, kMaskBytes);
  ::syscall(SYS_setsid);
  std::array<int, kMostDescriptors> high{};
  // Out of the way first: a source may lie where another shall go.
  constexpr int kOutOfTheWay = kFirstInherited + kMostDescriptors;
  for (std::size_t i = 0; i < start.descriptors.size(); ++i) {
    high[i] = static_cast<int>(::syscall(SYS_fcntl, start.descriptors[i], F_DUPFD, kOutOfTheWay));
    if (high[i] < 0) {
      start.error = errno;
      leave(127);
    }
  }
  const auto null = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR));
  for (int fd = 0; fd < kFirstInherited; ++fd) {
    if (null >= 0 && null != fd) ::syscall(SYS_dup3, null, fd, 0);
  }
  for (std::size_t i = 0; i < start.descriptors.size(); ++i) {
    ::syscall(SYS_dup3, high[i], kFirstInherited + static_cast<int>(i), 0);
  }
  close_from(static_cast<unsigned>(kFirstInherited) +
             static_cast<unsigned>(start.descriptors.size()));
  ::syscall(SYS_chdir, "/");  // staying where we are would only keep a directory busy
  ::syscall(SYS_execve, start.program, start.arguments, environ);
  start.error = errno;
  leave(127);
}

// The outer child only starts the inner one and ends: the inner one then has no parent here.
JUMPER_IN_CHILD int outer_child(void* argument) noexcept {
  auto& start = *static_cast<Start*>(argument);
  constexpr int kShared = CLONE_VM | CLONE_VFORK | SIGCHLD;
  start.pid = start_clone(inner_child, start.inner_stack_top, kShared | CLONE_PIDFD, argument,
                          &start.pidfd);
  if (start.pid < 0 && errno == EINVAL) {
    start.pidfd = -1;
    start.pid = start_clone(inner_child, start.inner_stack_top, kShared, argument);
  }
  if (start.pid < 0) start.error = errno;
  leave(0);
}

class Stacks {
 public:
  Stacks() noexcept
      : memory_(::mmap(nullptr, 2 * kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {}
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() {
    if (valid()) ::munmap(memory_, 2 * kStackBytes);
  }
  [[nodiscard]] bool valid() const noexcept { return memory_ != MAP_FAILED; }
  [[nodiscard]] char* top(std::size_t number) const noexcept {
    return static_cast<char*>(memory_) + (number + 1) * kStackBytes;
  }

 private:
  void* memory_;
};

}  // namespace

std::int64_t process_cpu_time_ns(pid_t pid) noexcept {
  // What clock_getcpuclockid(3) gives; it also asks the kernel whether there is such a process,
  // which reading says anyway. CPUCLOCK_SCHED of linux/posix-timers_types.h.
  constexpr clockid_t kSchedulerClock = 2;
  const clockid_t clock = (~pid << 3) | kSchedulerClock;
  timespec time{};
  if (pid < 0 || ::clock_gettime(clock, &time) != 0) {
    errno = ESRCH;
    return -1;
  }
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

File open_pidfd(pid_t pid) noexcept {
  if (fails_at("pidfd")) return {};
  return File(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));  // always close-on-exec
}

bool has_ended(int pidfd) noexcept {
  pollfd entry{pidfd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

bool kill_by_pidfd(int pidfd) noexcept {
  return ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0) == 0;
}

HiddenChild start_hidden(const std::string& program, const std::vector<std::string>& arguments,
                         std::span<const int> descriptors) {
  constexpr std::string_view kVerb = "cannot start";
  if (fails_at("spawn")) throw Error(kVerb, program, errno);
  if (descriptors.size() > kMostDescriptors) throw Error(kVerb, program, E2BIG);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const Stacks stacks;
  if (!stacks.valid()) throw Error(kVerb, program, errno);

  Start start;
  start.program = program.c_str();
  start.arguments = argv.data();
  start.descriptors = descriptors;
  start.inner_stack_top = stacks.top(1);
  const SignalsBlocked blocked;
  // Exit signal 0: invisible to SIGCHLD and to every wait without __WCLONE. CLONE_FILES: the
  // pidfd of the inner child lands in this process's table.
  const pid_t outer =
      start_clone(outer_child, stacks.top(0), CLONE_VM | CLONE_VFORK | CLONE_FILES, &start);
  const int error = errno;
  if (outer > 0) {
    while (::waitpid(outer, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
  }
  HiddenChild child{start.pid, File(start.pidfd)};
  if (outer < 0) throw Error(kVerb, program, error);
  if (start.error != 0) throw Error(kVerb, program, start.error);
  return child;
}

}  // namespace base
