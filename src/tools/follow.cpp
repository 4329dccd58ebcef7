#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <set>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "store/ending.hpp"
#include "store/summary.hpp"
#include "tools/ask_stacks.hpp"
#include "tools/report.hpp"
#include "tools/terminal.hpp"
#include "view/escape.hpp"
#include "view/live.hpp"
#include "view/stack_lines.hpp"
#include "view/summary.hpp"

namespace tools {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kMostNsToAnswer = 5 * kSecondNs;
constexpr int kLookMs = 200;
constexpr std::size_t kPipeColumns = 100;
constexpr std::size_t kMostSentence = 300;

std::optional<base::FileIdentity> identity_of(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return std::nullopt;
  return base::FileIdentity{file.st_dev, file.st_ino};
}

// The recording as it grows, and what was asked of its kernel.
class Followed {
 public:
  explicit Followed(const std::string& path)
      : path_(path), identity_(identity_of(path)), recording_(store::Recording::open(path)) {}

  [[nodiscard]] const store::Recording& recording() const noexcept { return recording_; }

  void look() {
    // A file that became too long is replaced by a thinned copy of itself.
    const auto now = identity_of(path_);
    if (now && now != identity_) {
      recording_ = store::Recording::open(path_);
      identity_ = now;
    }
    recording_.refresh();
    if (asked_ns_ == 0) return;
    if (newest_stacks_ns() != stacks_before_ns_) {
      asked_ns_ = 0;
      answered_ = true;
      note_.clear();
    } else if (base::monotonic_ns() - asked_ns_ > kMostNsToAnswer) {
      asked_ns_ = 0;
      note_ = "no stacks within 5 s: the kernel or its sampler is stopped, or this is too old";
    }
  }

  [[nodiscard]] bool has_ended() const { return recording_.end() || !recording_.is_live(); }

  void ask() {
    if (asked_ns_ != 0) return;
    stacks_before_ns_ = newest_stacks_ns();
    note_ = recording_.machine() ? ask_for_stacks(path_, *recording_.machine())
                                 : "nobody can be asked: the recording doesn't say who writes it";
    if (!note_.empty()) return;
    asked_ns_ = base::monotonic_ns();
    note_ = "asked for the stacks …";
  }
  // Asked for, and neither here nor given up.
  [[nodiscard]] bool awaits_stacks() const noexcept { return asked_ns_ != 0; }
  [[nodiscard]] bool has_answer() const noexcept { return answered_; }
  [[nodiscard]] const std::string& note() const noexcept { return note_; }

 private:
  [[nodiscard]] std::int64_t newest_stacks_ns() const {
    return recording_.stacks() ? recording_.stacks()->time_ns : 0;
  }

  std::string path_;
  std::optional<base::FileIdentity> identity_;
  store::Recording recording_;
  std::int64_t asked_ns_ = 0;  // 0: no answer is awaited
  std::int64_t stacks_before_ns_ = 0;
  bool answered_ = false;
  std::string note_;
};

std::string end_sentence(const store::Recording& recording) {
  const store::Ending ending = store::ending_of(recording);
  if (ending.text.empty()) return "the recording has ended";
  return "the recording has ended: " + view::one_line(ending.text, kMostSentence);
}

bool print(std::string_view text) { return base::write_all(STDOUT_FILENO, text); }

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

// Until something may have happened. False when whoever read our output has left.
bool wait_a_little() {
  pollfd reader{STDOUT_FILENO, 0, 0};
  return ::poll(&reader, 1, kLookMs) <= 0 || (reader.revents & (POLLERR | POLLHUP)) == 0;
}

int follow_on_terminal(Followed& followed) {
  int signal = 0;
  std::string last_screen;
  {
    Terminal terminal;
    std::int64_t next_draw_ns = 0;
    std::string drawn_note;
    bool asked_before = false;
    for (bool leave = false; !leave && signal == 0;) {
      followed.look();
      const std::int64_t now_ns = base::monotonic_ns();
      const bool news = followed.note() != drawn_note ||
                        (asked_before && !followed.awaits_stacks()) || followed.has_ended();
      if (now_ns >= next_draw_ns || news) {
        const store::Recording& recording = followed.recording();
        std::vector<std::string> lines = view::live_lines(
            recording, std::max(now_ns, recording.last_sample_ns()), terminal.columns());
        last_screen = joined(lines);
        lines.emplace_back(terminal.keys_fd() >= 0 ? "s stacks · q quit" : "Ctrl-C quits");
        if (!followed.note().empty()) {
          lines.push_back(view::one_line(followed.note(), terminal.columns()));
        }
        if (followed.has_answer()) {
          for (std::string& line : view::stack_lines(recording, terminal.columns())) {
            lines.push_back(std::move(line));
          }
        }
        Terminal::draw(lines, terminal.rows());
        drawn_note = followed.note();
        next_draw_ns = now_ns + kSecondNs;
      }
      asked_before = followed.awaits_stacks();
      if (followed.has_ended()) break;
      pollfd keys{terminal.keys_fd(), POLLIN, 0};
      if (::poll(&keys, 1, kLookMs) > 0) {
        const std::optional<char> key = terminal.key();
        leave = !key || *key == 'q' || *key == 'Q';  // no key: the terminal is gone
        if (key && (*key == 's' || *key == 'S')) followed.ask();
      }
      signal = Terminal::ended_by();
    }
  }
  print(last_screen);
  if (signal != 0) ::raise(signal);
  if (followed.has_ended()) print(end_sentence(followed.recording()) + '\n');
  return 0;
}

// What a pipe gets: a block when a cell begins or ends, and once a second while one runs.
class Blocks {
 public:
  bool print_new(const store::Recording& recording) {
    const std::int64_t now_ns = base::monotonic_ns();
    const store::Cell* running = view::running_cell(recording);
    const State state{recording.cells().size(), running == nullptr ? 0 : running->begin.index};
    if (state == state_ && (running == nullptr || now_ns < next_ns_)) return true;
    // Nothing is said of the time since the last sample, so without samples nothing is new.
    std::string block =
        joined(view::live_lines(recording, recording.last_sample_ns(), kPipeColumns));
    if (state == state_ && block == block_) return true;
    state_ = state;
    block_ = std::move(block);
    next_ns_ = now_ns + kSecondNs;
    return print(block_ + '\n');
  }

 private:
  struct State {
    std::size_t cells = 0;
    std::int64_t running = 0;  // its index
    bool operator==(const State&) const = default;
  };
  std::optional<State> state_;
  std::string block_;
  std::int64_t next_ns_ = 0;
};

// A line of JSON for each cell that ends from now on.
class Ends {
 public:
  explicit Ends(const store::Recording& recording) {
    for (const store::Cell& cell : recording.cells()) {
      if (cell.end) known_.insert(cell.begin.index);
    }
  }
  bool print_new(const store::Recording& recording) {
    bool open = true;
    for (const store::Cell& cell : recording.cells()) {
      if (!cell.end || !known_.insert(cell.begin.index).second) continue;
      open = print(view::summary_json(store::summarize(recording, cell)) + '\n') && open;
    }
    return open;
  }

 private:
  std::set<std::int64_t> known_;
};

int follow_in_pipe(Followed& followed, const ReportOptions& options) {
  Blocks blocks;
  Ends ends(followed.recording());
  bool stacks_wanted = options.stacks;
  for (;;) {
    followed.look();
    const bool ended = followed.has_ended();
    const bool open = options.json ? ends.print_new(followed.recording())
                                   : blocks.print_new(followed.recording());
    if (!open) return 0;
    if (stacks_wanted && !followed.awaits_stacks()) {
      stacks_wanted = false;
      if (followed.has_answer()) {
        print(joined(view::stack_lines(followed.recording(), kMostSentence)) + '\n');
      } else {
        fmt::print(stderr, "jumper: {}\n", followed.note());
      }
    }
    if (ended) break;
    if (!wait_a_little()) return 0;
  }
  if (!options.json) print(end_sentence(followed.recording()) + '\n');
  return 0;
}

int say_that_it_has_ended(const store::Recording& recording, const ReportOptions& options) {
  if (options.json) {
    fmt::print(stderr, "jumper: {}\n", end_sentence(recording));
    return 0;
  }
  print_header(recording);
  if (!recording.cells().empty()) {
    const store::CellSummary last = store::summarize(recording, recording.cells().back());
    fmt::print("\n{}\n", view::summary_text(last, options.level));
  }
  fmt::print("\n{}\n", end_sentence(recording));
  return 0;
}

}  // namespace

int follow(const ReportOptions& options) {
  Followed followed(options.path);
  if (followed.has_ended()) return say_that_it_has_ended(followed.recording(), options);
  if (options.stacks) followed.ask();
  if (Terminal::is_there() && !options.json) return follow_on_terminal(followed);
  return follow_in_pipe(followed, options);
}

}  // namespace tools
