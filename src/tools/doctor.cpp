#include "tools/doctor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "base/file.hpp"
#include "tools/doctor_apart.hpp"
#include "tools/verbs.hpp"
#include "tools/version.hpp"

namespace tools {
namespace {

using namespace std::chrono_literals;

constexpr std::array kChecks{
    Check{"program", "the program", Result::kLimited, 2s, check_program},
    Check{"levels", "measuring", Result::kMissing, 15s, check_measuring},
    Check{"system calls", "system calls", Result::kMissing, 5s, check_calls},
    Check{"processes", "what /proc shows", Result::kMissing, 5s, check_processes},
    Check{"places", "recordings", Result::kMissing, 5s, check_places},
    Check{"clocks", "clocks", Result::kLimited, 2s, check_clocks},
    Check{"Python", "Python", Result::kLimited, 7s, check_python},
};

struct DoctorOptions {
  Subject subject;
  bool json = false;
};

// What is said goes to stdout at once: some checks take a second.
class Printer {
 public:
  explicit Printer(bool json) : json_(json) {
    constexpr const char* kNoColour = "NO_COLOR";
    const char* refused = std::getenv(kNoColour);
    colours_ = ::isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0');
  }

  void head(const Subject& subject) {
    if (json_) return;
    utsname system{};
    ::uname(&system);
    write(fmt::format("jumper {} · process {} · {} · {} {}\n", kVersionText, subject.pid,
                      system.nodename, system.sysname, system.release));
  }

  void show(const Finding& finding) {
    ++counts_[static_cast<std::size_t>(finding.result)];
    if (json_) return write(finding_json(finding) + "\n");
    if (finding.group != group_) write("\n" + finding.group + "\n");
    group_ = finding.group;
    write(finding_text(finding, colours_));
  }

  void foot() {
    if (json_) return;
    write(fmt::format("\n{} ok, {} limited, {} missing{}\n", counts_[0], counts_[1], counts_[2],
                      counts_[2] == 0 ? ": cells can be measured here" : ""));
  }

  // 0, or 1: something is missing, or nothing could be written.
  [[nodiscard]] int status() const noexcept {
    if (error_ != 0) return error_ == EPIPE ? 0 : 1;
    return counts_[2] > 0 ? 1 : 0;
  }
  [[nodiscard]] bool has_reader() const noexcept { return error_ == 0; }

 private:
  void write(const std::string& text) {
    if (error_ == 0 && !base::write_all(STDOUT_FILENO, text)) error_ = errno;
  }

  bool json_;
  bool colours_ = false;
  int error_ = 0;
  std::string group_;
  std::array<std::size_t, 3> counts_{};
};

// A check that had to be killed leaves what it had started to us, and that dies with it.
void reap_orphans() {
  constexpr int kMostMs = 500;
  for (int waited = 0; waited < kMostMs; ++waited) {
    const pid_t reaped = ::waitpid(-1, nullptr, WNOHANG);
    if (reaped < 0) return;
    if (reaped == 0) ::poll(nullptr, 0, 1);
  }
}

int examine(const DoctorOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);  // a reader that has seen enough is no failure
  ::signal(SIGCHLD, SIG_DFL);  // ignored, nobody could wait for the checks
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Subject subject = options.subject;
  if (subject.pid == 0) subject.pid = ::getpid();
  subject.program = own_path();
  if (subject.python.empty()) {
    subject.python = python_near(subject.program);
  } else if (subject.python.find('/') == std::string::npos) {
    const std::string found = find_on_path(subject.python, false);
    if (!found.empty()) subject.python = found;
  }
  Printer printer(options.json);
  printer.head(subject);
  for (const Check& check : kChecks) {
    if (!printer.has_reader()) break;
    run_apart(check, subject, [&printer](const Finding& finding) { printer.show(finding); });
  }
  reap_orphans();
  printer.foot();
  return printer.status();
}

}  // namespace

void Sheet::say(Finding finding) const {
  if (finding.group.empty()) finding.group = group_;
  sink_(finding);
}

void Sheet::ok(std::string_view what, std::string_view reason) const {
  say({{}, std::string(what), Result::kOk, std::string(reason), {}});
}

void Sheet::limited(std::string_view what, std::string_view reason, std::string_view remedy) const {
  say({{}, std::string(what), Result::kLimited, std::string(reason), std::string(remedy)});
}

void Sheet::missing(std::string_view what, std::string_view reason, std::string_view remedy) const {
  say({{}, std::string(what), Result::kMissing, std::string(reason), std::string(remedy)});
}

void add_doctor(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* verb = program.add_subcommand(
      "doctor", "try everything that measuring needs: what works, what doesn't, what would help");
  verb->add_option("--pid", options->subject.pid, "the process whose tree is looked at")
      ->check(CLI::PositiveNumber);
  verb->add_option("--python", options->subject.python, "the interpreter of the notebooks");
  verb->add_flag("--json", options->json, "one JSON object a line");
  verb->callback([options, &chosen] { chosen = [options] { return examine(*options); }; });
}

}  // namespace tools
