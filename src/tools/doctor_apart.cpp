#include "tools/doctor_apart.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <exception>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "record/text.hpp"

namespace tools {
namespace {

constexpr std::int64_t kNsInMs = 1'000'000;
constexpr std::int64_t kMostNsToDie = 500 * kNsInMs;  // one that waits for a dead disk can't die
constexpr std::size_t kMostLineBytes = 1 << 16;

[[noreturn]] void run_child(const Check& check, const Subject& subject, int fd) {
  Sheet sheet(check.group,
              [fd](const Finding& finding) { base::write_all(fd, finding_json(finding) + "\n"); });
  try {
    check.run(subject, sheet);
  } catch (const std::exception& error) {
    sheet.limited(check.what, error.what());
  }
  ::_exit(0);  // no destructor of the parent's, no buffer written twice
}

// Lines from the child until it ends or the time is over. True when the time was over.
bool pass_on(int fd, std::int64_t deadline_ns, const Sheet::Sink& sink) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const std::int64_t left_ns = deadline_ns - base::monotonic_ns();
    if (left_ns <= 0) return true;
    pollfd entry{fd, POLLIN, 0};
    if (::poll(&entry, 1, static_cast<int>(left_ns / kNsInMs) + 1) <= 0) continue;
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      if (const auto finding = read_finding({text.data() + begin, end - begin})) sink(*finding);
    }
    text.erase(0, begin);
    if (text.size() > kMostLineBytes) text.clear();
  }
}

// Its wait status; 0 when it can't be had.
int reap(pid_t pid) {
  const std::int64_t deadline_ns = base::monotonic_ns() + kMostNsToDie;
  int status = 0;
  for (;;) {
    const pid_t reaped = ::waitpid(pid, &status, WNOHANG);
    if (reaped == pid) return status;
    if (reaped < 0 && errno != EINTR) return 0;
    if (base::monotonic_ns() > deadline_ns) return 0;
    const timespec pause{0, kNsInMs};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

void die_with(pid_t parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // it ended in between
}

void run_apart(const Check& check, const Subject& subject, const Sheet::Sink& sink) {
  const Sheet sheet(check.group, sink);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    sheet.missing(check.what, fmt::format("not tried: no pipe: {}", base::errno_text(errno)));
    return;
  }
  const base::File reading(ends[0]);
  base::File writing(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    die_with(parent);
    run_child(check, subject, writing.fd());
  }
  const int error = errno;
  writing.close();
  if (pid < 0) {
    sheet.missing(check.what,
                  fmt::format("not tried: no process can be started: {}", base::errno_text(error)),
                  "raise the limit of processes (ulimit -u, pids.max of the cgroup)");
    return;
  }
  const auto limit_ns = std::chrono::nanoseconds(check.limit).count();
  const bool late = pass_on(reading.fd(), base::monotonic_ns() + limit_ns, sink);
  if (late) {
    ::kill(pid, SIGKILL);
    sheet.say({{},
               check.what,
               check.silent,
               fmt::format("no answer within {} ms", check.limit.count()),
               {}});
  }
  const int status = reap(pid);
  if (!late && WIFSIGNALED(status)) {
    const record::End end{0, record::EndCause::kKilled, WTERMSIG(status)};
    sheet.missing(check.what, "the attempt was " + record::end_text(end));
  }
}

Bystander::Bystander() : pid_(-1) {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ != 0) return;
  die_with(parent);
  for (;;) ::pause();
}

Bystander::~Bystander() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace tools
