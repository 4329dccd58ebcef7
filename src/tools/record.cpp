#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/error.hpp"
#include "record/text.hpp"
#include "store/keeping.hpp"
#include "tools/verbs.hpp"
#include "watch/watch.hpp"

namespace tools {
namespace {

constexpr std::size_t kMostShownBytes = 100;
constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;
constexpr std::int64_t kMostStartNs = 50'000'000;
constexpr std::int64_t kMostWaitNs = 1'000'000'000;

struct RecordOptions {
  double rate_hz = 10.0;
  std::string path;
  std::vector<std::string> command;
};

volatile std::sig_atomic_t command_pid = 0;
volatile std::sig_atomic_t early_signal = 0;  // came before there was a command

// What somebody sends to us is for the command. What a terminal sends (its keys, si_code > 0) has
// gone to the command's group by itself.
void pass_on(int signal, siginfo_t* info, void* /*context*/) {
  if (info->si_code > 0) return;
  if (command_pid > 0) {
    ::kill(command_pid, signal);
  } else {
    early_signal = signal;
  }
}

class Signals {
 public:
  Signals() {
    sigemptyset(&defaults_);
    struct sigaction action{};
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    action.sa_sigaction = pass_on;
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
      struct sigaction before{};
      ::sigaction(signal, nullptr, &before);
      if (before.sa_handler == SIG_IGN) continue;
      sigaddset(&defaults_, signal);
      ::sigaction(signal, &action, nullptr);
    }
  }
  // What the command shall start with as default: all that wasn't ignored when we began (nohup).
  [[nodiscard]] const sigset_t& defaults() const noexcept { return defaults_; }

 private:
  sigset_t defaults_{};
};

pid_t start_command(const std::vector<std::string>& command, const Signals& signals) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigdefault(&attributes, &signals.defaults());
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error =
      ::posix_spawnp(&pid, command[0].c_str(), nullptr, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) throw base::Error("cannot start command", command[0], error);
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

record::Outcome outcome_of(int status) {
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGINT ? record::Outcome::kInterrupted : record::Outcome::kDied;
  }
  return WEXITSTATUS(status) == 0 ? record::Outcome::kOk : record::Outcome::kError;
}

// Ends as the command ended: whoever waits for us sees the same.
int end_as(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  constexpr rlimit kNoCore{0, 0};
  ::setrlimit(RLIMIT_CORE, &kNoCore);  // one core file, the command's, is enough
  std::fflush(nullptr);
  ::signal(WTERMSIG(status), SIG_DFL);
  ::raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

// A number from 0 on; what isn't one is told and ignored.
std::int64_t amount(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  const std::string_view digits(text);
  std::int64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() && value >= 0) {
    return value;
  }
  fmt::print(stderr, "jumper: {}={} is ignored: it must be a whole number from 0 on\n", variable,
             record::escaped(text, kMostShownBytes));
  return otherwise;
}

int record(const RecordOptions& options) {
  const std::vector<std::string>& command = options.command;
  if (command.empty()) {
    throw base::Error("cannot record", "", "no command was given",
                      "jumper record [--rate HZ] [-o FILE.jumper] -- COMMAND…");
  }
  const bool named = !options.path.empty();
  const char* directory = std::getenv("JUMPER_DIR");
  watch::Place place = named ? watch::create_named_recording(options.path)
                             : watch::create_recording(directory != nullptr ? directory : "");
  const std::string where = place.sentence;
  const std::string text = fmt::format("{}", fmt::join(command, " "));
  watch::WatchOptions watched{own_path(), text, options.rate_hz, true, true};
  if (!named) {  // what the user names is the user's to delete
    constexpr store::KeepLimits kDefault;
    watched.keep_days = amount("JUMPER_KEEP_DAYS", kDefault.days);
    watched.keep_bytes = amount("JUMPER_KEEP_BYTES", kDefault.bytes);
  }
  watch::Watch watch(std::move(watched), std::move(place));
  const Signals signals;
  const std::int64_t cell = watch.begin(text, std::nullopt);
  watch.flush(kMostStartNs);
  int status = 0;
  try {
    command_pid = start_command(command, signals);
    if (early_signal != 0) ::kill(command_pid, early_signal);
    status = wait_for(command_pid);
    command_pid = 0;
  } catch (const base::Error& error) {
    watch.close();
    if (!watch.path().empty()) ::unlink(watch.path().c_str());
    fmt::print(stderr, "jumper: {}\n", error.what());
    return error.code() == ENOENT ? kNotFound : kNotExecutable;
  }
  watch.end(cell, outcome_of(status), std::nullopt);
  watch.wait(cell, kMostWaitNs);
  const std::vector<std::string> warnings = watch.take_warnings();
  watch.close();
  for (const std::string& warning : warnings) fmt::print(stderr, "jumper: {}\n", warning);
  if (!named) fmt::print(stderr, "jumper: {}\n", where);
  return end_as(status);
}

}  // namespace

void separate_command(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "record") return;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") return;
    if (word == "--rate" || word == "-o" || word == "--output") {
      ++i;  // its value
    } else if (!word.starts_with('-')) {
      arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(i), "--");
      return;
    }
  }
}

void add_record(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* verb = program.add_subcommand(
      "record", "run a command and record it: jumper record [OPTIONS] -- COMMAND…");
  add_rate(*verb, options->rate_hz);
  verb->add_option("-o,--output", options->path,
                   "the recording; without it one in the state directory, named on stderr");
  verb->add_option("COMMAND", options->command, "the command and its arguments");
  verb->callback([options, &chosen] { chosen = [options] { return record(*options); }; });
}

}  // namespace tools
