// The notebooks' Python: a script of ours in their interpreter says what it finds, in the lines of
// finding_json().

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "tools/doctor.hpp"
#include "tools/doctor_apart.hpp"
#include "tools/doctor_script.hpp"
#include "tools/version.hpp"

namespace tools {
namespace {

constexpr std::int64_t kMostNs = 5'000'000'000;
constexpr std::int64_t kNsInMs = 1'000'000;
constexpr std::size_t kMostBytes = 1 << 18;
constexpr int kNoPython = 127;

[[noreturn]] void run_python(const std::string& python, int out, int error_out) {
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(error_out, STDERR_FILENO);
  ::setenv("PYTHONSAFEPATH", "1", 1);           // files of the current folder are looked for, …
  ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);  // … not run; and nothing is left behind
  const std::string version(kVersionText);
  const std::array<const char*, 5> arguments{python.c_str(), "-c", kDoctorScript, version.c_str(),
                                             nullptr};
  ::execv(python.c_str(), const_cast<char* const*>(arguments.data()));
  ::_exit(kNoPython);
}

// What the two pipes bring until both are closed; false when the time is over first.
bool read_both(std::array<base::File, 2>& pipes, std::array<std::string, 2>& texts) {
  const std::int64_t deadline_ns = base::monotonic_ns() + kMostNs;
  std::array<char, 4096> buffer{};
  while (pipes[0].valid() || pipes[1].valid()) {
    const std::int64_t left_ns = deadline_ns - base::monotonic_ns();
    if (left_ns <= 0) return false;
    std::array<pollfd, 2> entries{{{pipes[0].fd(), POLLIN, 0}, {pipes[1].fd(), POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), static_cast<int>(left_ns / kNsInMs) + 1);
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      if (entries[i].revents == 0) continue;
      const ssize_t size = ::read(pipes[i].fd(), buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) {
        pipes[i].close();
      } else if (texts[i].size() < kMostBytes) {
        texts[i].append(buffer.data(), static_cast<std::size_t>(size));
      }
    }
  }
  return true;
}

// How many lines of `text` were findings.
std::size_t pass_on(std::string_view text, const Sheet& sheet) {
  std::size_t said = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (auto finding = read_finding(text.substr(0, end))) {
      finding->group.clear();
      sheet.say(*std::move(finding));
      ++said;
    }
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return said;
}

std::string_view last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t end = text.rfind('\n');
  return end == text.npos ? text : text.substr(end + 1);
}

base::File make_pipe(base::File& writing) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw base::Error("cannot make", "a pipe", errno);
  writing = base::File(ends[1]);
  return base::File(ends[0]);
}

}  // namespace

void check_python(const Subject& subject, Sheet& sheet) {
  constexpr const char* kWhat = "Python";
  if (subject.python.empty()) {
    return sheet.ok(kWhat,
                    "none beside the program, no VIRTUAL_ENV: `--python PATH` names the one of "
                    "your notebooks");
  }
  std::array<base::File, 2> writing;
  std::array<base::File, 2> reading{make_pipe(writing[0]), make_pipe(writing[1])};
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    die_with(parent);
    run_python(subject.python, writing[0].fd(), writing[1].fd());
  }
  if (pid < 0) throw base::Error("cannot start", subject.python, errno);
  for (base::File& file : writing) file.close();
  std::array<std::string, 2> texts;
  const bool in_time = read_both(reading, texts);
  if (!in_time) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const std::size_t said = pass_on(texts[0], sheet);
  if (!in_time) {
    sheet.limited(kWhat, fmt::format("no answer within 5 s from {}", subject.python),
                  "is its folder on a slow file system?");
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == kNoPython && said == 0) {
    sheet.limited(kWhat, fmt::format("{} can't be started", subject.python),
                  "name the interpreter of your notebooks with --python");
  } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    sheet.limited(kWhat, fmt::format("{} failed: {}", subject.python, last_line(texts[1])));
  }
}

}  // namespace tools
