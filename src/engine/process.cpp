#include "engine/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/failpoint.hpp"
#include "base/process.hpp"
#include "engine/deadline.hpp"
#include "engine/spawn.hpp"

namespace engine {
namespace {

constexpr auto kPidfdKind = static_cast<idtype_t>(3);  // P_PIDFD of newer headers, Linux 5.4
constexpr unsigned kWholeGroup = 1U << 2;              // PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9

// Both close-on-exec; the end that is read doesn't block, the one that the engine gets does.
std::pair<base::File, base::File> make_pipe(const std::string& program) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw base::Error("cannot start", program, errno);
  std::pair made{base::File(ends[0]), base::File(ends[1])};
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) throw base::Error("cannot start", program, errno);
  return made;
}

enum class Child { kRunning, kEnded, kNotOurs };

// Asks without reaping. By pidfd, so that a child that got the number later isn't meant.
Child look_at(pid_t pid, int pidfd, siginfo_t& info) noexcept {
  for (;;) {
    info = {};
    constexpr int kOptions = WEXITED | WNOHANG | WNOWAIT;
    int failed = -1;
    errno = EINVAL;
    if (pidfd >= 0) failed = ::waitid(kPidfdKind, static_cast<id_t>(pidfd), &info, kOptions);
    if (failed != 0 && errno == EINVAL) {
      failed = ::waitid(P_PID, static_cast<id_t>(pid), &info, kOptions);
    }
    if (failed == 0) return info.si_pid != 0 ? Child::kEnded : Child::kRunning;
    if (errno != EINTR) return Child::kNotOurs;
  }
}

Ended ended_of(const siginfo_t& info) noexcept {
  Ended ended;
  if (info.si_code == CLD_EXITED) {
    ended.how = Ended::How::kExited;
    ended.status = info.si_status;
  } else {
    ended.how = Ended::How::kKilled;
    ended.signal = info.si_status;
    ended.core = info.si_code == CLD_DUMPED;
  }
  return ended;
}

bool send_by_pidfd(int pidfd, int signal, unsigned flags) noexcept {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, flags) == 0;
}

void kill_group_when_ended(const base::File& pidfd) noexcept {
  for (;;) {
    pollfd entry{pidfd.fd(), POLLIN, 0};
    const int ready = ::poll(&entry, 1, -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready != 1 || (entry.revents & POLLNVAL) != 0) return;
    // The cell may have closed it and got the number for a file of its own.
    if (!send_by_pidfd(pidfd.fd(), 0, 0) && errno == EBADF) return;
    ::kill(0, SIGKILL);
  }
}

}  // namespace

std::string describe(const Ended& ended) {
  switch (ended.how) {
    case Ended::How::kExited:
      return fmt::format("exited with status {}", ended.status);
    case Ended::How::kKilled: {
      const char* words = ::sigdescr_np(ended.signal);
      return fmt::format("killed by signal {}{}{}", ended.signal,
                         words != nullptr ? fmt::format(" ({})", words) : "",
                         ended.core ? ", with a core dump" : "");
    }
    case Ended::How::kUnknown:
      break;
  }
  return "ended, status unknown: reaped by somebody else";
}

Reading read_available(int fd, std::span<char> buffer) noexcept {
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count > 0) return {Reading::Status::kBytes, static_cast<std::size_t>(count)};
    if (count == 0) return {Reading::Status::kEnd, 0};
    if (errno == EINTR) continue;
    const bool empty = errno == EAGAIN || errno == EWOULDBLOCK;
    return {empty ? Reading::Status::kEmpty : Reading::Status::kEnd, 0};
  }
}

Process Process::start(const Start& start) {
  const std::string program = start.command.empty() ? "the engine" : start.command.front();
  auto [output, its_output] = make_pipe(program);
  auto [errors, its_errors] = make_pipe(program);
  const base::File self = base::open_pidfd(::getpid());
  Process process;
  process.pid_ = spawn(start.command, start.environment, start.directory,
                       {.output = its_output.fd(),
                        .errors = its_errors.fd(),
                        .channel = start.channel_fd,
                        .parent = self.fd()});
  process.pidfd_ = base::open_pidfd(process.pid_);
  process.output_ = std::move(output);
  process.errors_ = std::move(errors);
  // Ended and reaped already, in another thread: whatever has the number now isn't ours.
  siginfo_t info;
  if (look_at(process.pid_, process.pidfd_.fd(), info) == Child::kNotOurs) process.ended_ = Ended{};
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      parent_(other.parent_),
      pidfd_(std::move(other.pidfd_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      ended_(std::exchange(other.ended_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  finish();
  pid_ = std::exchange(other.pid_, -1);
  parent_ = other.parent_;
  pidfd_ = std::move(other.pidfd_);
  output_ = std::move(other.output_);
  errors_ = std::move(other.errors_);
  ended_ = std::exchange(other.ended_, std::nullopt);
  return *this;
}

std::optional<Ended> Process::wait(std::int64_t deadline_ns) {
  constexpr int kLookEvery_ms = 10;  // without a pidfd nothing wakes us
  for (;;) {
    if (ended_ || pid_ < 0) return ended_;
    siginfo_t info;
    const Child child = look_at(pid_, pidfd_.fd(), info);
    if (child == Child::kEnded) ended_ = ended_of(info);
    if (child == Child::kNotOurs) ended_ = Ended{};  // or by the system: SIGCHLD is ignored
    if (ended_) return ended_;
    const int left_ms = poll_ms(deadline_ns);
    if (left_ms == 0) return std::nullopt;
    pollfd entry{pidfd_.fd(), POLLIN, 0};
    ::poll(&entry, 1, pidfd_.valid() ? left_ms : std::min(left_ms, kLookEvery_ms));
  }
}

bool Process::interrupt() noexcept { return signal_group(SIGINT); }
bool Process::terminate() noexcept { return signal_group(SIGTERM); }
bool Process::kill() noexcept { return signal_group(SIGKILL); }

bool Process::signal_group(int signal) noexcept {
  if (pid_ < 0 || ::getpid() != parent_) return false;
  if (pidfd_.valid() && !base::fails_at("group_signal")) {
    if (send_by_pidfd(pidfd_.fd(), signal, kWholeGroup)) return true;
    if (errno == ESRCH) return false;
  }
  // By number: it is ours as long as the process, or its zombie, is our child.
  siginfo_t info;
  if (look_at(pid_, pidfd_.fd(), info) == Child::kNotOurs) return false;
  return ::kill(-pid_, signal) == 0;
}

void Process::finish() noexcept {
  if (pid_ < 0) return;
  this->kill();
  siginfo_t info;
  if (look_at(pid_, pidfd_.fd(), info) != Child::kNotOurs) {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
}

bool watch_parent(base::File pidfd) noexcept {
  if (!send_by_pidfd(pidfd.fd(), 0, 0) && errno != ESRCH && errno != EPERM) return false;
  const base::SignalsBlocked blocked;
  try {
    std::thread([watched = std::move(pidfd)] { kill_group_when_ended(watched); }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

}  // namespace engine
