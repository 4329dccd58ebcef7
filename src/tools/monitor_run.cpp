#include "tools/monitor_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/process.hpp"

namespace tools {
namespace {

constexpr int kLookMs = 250;
constexpr int kMostMsToEnd = 500;  // after SIGTERM
constexpr int kNotStarted = 127;
constexpr unsigned kMostSecondsToTell = 1;
constexpr std::size_t kMostSaid = 200;
constexpr std::array kIgnored{SIGINT, SIGHUP, SIGPIPE, SIGQUIT};

// The last line that isn't empty.
class LastLine {
 public:
  void add(std::string_view bytes) {
    for (const char one : bytes) {
      if (one == '\n') {
        if (!line_.empty()) last_ = std::exchange(line_, {});
      } else if (line_.size() < kMostSaid) {
        line_ += one;
      }
    }
  }
  [[nodiscard]] const std::string& text() const { return line_.empty() ? last_ : line_; }

 private:
  std::string line_, last_;
};

// In the child. Nothing of ours stays open there.
[[noreturn]] void become(const MonitorRun& options, int error_fd, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNotStarted);
  if (options.input >= 0) {
    ::lseek(options.input, 0, SEEK_SET);
    ::dup2(options.input, STDIN_FILENO);
  }
  ::dup2(options.out, STDOUT_FILENO);
  ::dup2(error_fd, STDERR_FILENO);
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  for (const int signal : kIgnored) std::signal(signal, SIG_DFL);
  ::setenv("JUMPER_MONITOR_RATE", fmt::format("{}", options.rate_hz).c_str(), 1);
  std::vector<char*> words;
  words.reserve(options.command.size() + 1);
  for (const std::string& word : options.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::string failed = "cannot go to " + options.directory;
  if (options.directory.empty() || ::chdir(options.directory.c_str()) == 0) {
    ::execvp(words[0], words.data());
    failed = "cannot start " + options.command.front();
  }
  base::write_all(STDERR_FILENO, failed + ": " + base::errno_text(errno) + "\n");
  ::_exit(kNotStarted);
}

std::string reason_of(int status, const std::string& said) {
  std::string reason = "it ended";
  if (WIFSIGNALED(status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    reason = fmt::format("it was killed by signal {} (SIG{})", WTERMSIG(status),
                         name == nullptr ? "?" : name);
  } else if (WEXITSTATUS(status) != 0) {
    reason = fmt::format("it exited with status {}", WEXITSTATUS(status));
  }
  return said.empty() ? reason : reason + ": " + said;
}

class Runner {
 public:
  explicit Runner(const MonitorRun& options) : options_(options) {}

  int run() {
    for (const int signal : kIgnored) std::signal(signal, SIG_IGN);
    start();
    const base::File pidfd = base::open_pidfd(child_);
    while (!has_ended()) {
      std::array<pollfd, 4> entries{{{options_.out, 0, 0},
                                     {options_.root_pidfd, POLLIN, 0},
                                     {pidfd.fd(), POLLIN, 0},
                                     {errors_.fd(), POLLIN, 0}}};
      ::poll(entries.data(), entries.size(), kLookMs);
      listen();
      const bool unread = (entries[0].revents & (POLLERR | POLLHUP)) != 0;
      if (unread || kernel_has_ended(entries[1].revents != 0)) return stop();
      // Nothing comes any more, and it may live on.
      if ((entries[3].revents & (POLLHUP | POLLIN)) == POLLHUP) errors_.close();
    }
    listen();
    ::kill(-child_, SIGKILL);
    tell(reason_of(status_, said_.text()));
    return 0;
  }

 private:
  void start() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      throw base::Error("cannot start", options_.command.front(), errno);
    }
    errors_ = base::File(ends[0]);
    const base::File error_end(ends[1]);
    ::fcntl(error_end.fd(), F_SETFL, 0);
    const pid_t self = ::getpid();
    child_ = ::fork();
    if (child_ < 0) throw base::Error("cannot start", options_.command.front(), errno);
    if (child_ == 0) become(options_, error_end.fd(), self);
    ::setpgid(child_, child_);
  }

  [[nodiscard]] bool kernel_has_ended(bool said) const noexcept {
    if (options_.root_pidfd >= 0) return said;
    return ::kill(options_.root_pid, 0) != 0 && errno == ESRCH;
  }

  bool has_ended() noexcept { return ::waitpid(child_, &status_, WNOHANG) == child_; }

  void listen() {
    std::array<char, 4096> buffer{};
    // Not for ever: who floods it is listened to again.
    for (int piece = 0; piece < 16 && errors_.valid(); ++piece) {
      const ssize_t got = ::read(errors_.fd(), buffer.data(), buffer.size());
      if (got <= 0) return;
      said_.add({buffer.data(), static_cast<std::size_t>(got)});
    }
  }

  int stop() noexcept {
    ::kill(-child_, SIGTERM);
    for (int waited_ms = 0; waited_ms < kMostMsToEnd && !has_ended(); waited_ms += 10) {
      ::poll(nullptr, 0, 10);
    }
    ::kill(-child_, SIGKILL);
    return 0;
  }

  void tell(const std::string& reason) const {
    ::alarm(kMostSecondsToTell);  // a reader that hangs keeps no process
    const nlohmann::json line{{"end", reason}};
    const auto replaced = nlohmann::json::error_handler_t::replace;
    base::write_all(options_.out, "\n" + line.dump(-1, ' ', false, replaced) + "\n");
  }

  const MonitorRun& options_;
  pid_t child_ = -1;
  int status_ = 0;
  base::File errors_;
  LastLine said_;
};

}  // namespace

int run_monitor(const MonitorRun& options) { return Runner(options).run(); }

}  // namespace tools
