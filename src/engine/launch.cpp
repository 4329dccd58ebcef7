#include "engine/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "base/error.hpp"

namespace engine {
namespace {

constexpr std::string_view kPythonField = "{python}";
constexpr std::string_view kEngineField = "{engine}";

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  std::vector<std::string> words() && {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n') {
        end_word();
        ++at_;
      } else if (c == '\'') {
        single_quoted();
      } else if (c == '"') {
        double_quoted();
      } else if (c == '\\') {
        escaped();
      } else {
        refuse_shell(";|&<>()`");
        take();
      }
    }
    end_word();
    return std::move(words_);
  }

 private:
  // Characters of UTF-8 count once: a byte that continues one has the form 10xxxxxx.
  [[nodiscard]] std::size_t character(std::size_t at) const {
    const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    return static_cast<std::size_t>(std::ranges::count_if(text_.substr(0, at), starts)) + 1;
  }

  [[noreturn]] void refuse(const std::string& reason, std::string_view remedy = {}) const {
    // what() ends at a character 0, so the text is told up to there
    throw base::Error("cannot use launcher", text_.substr(0, text_.find('\0')), reason, remedy);
  }

  void refuse_shell(std::string_view characters) const {
    const bool command = text_.substr(at_).starts_with("$(");
    if (!command && characters.find(text_[at_]) == characters.npos) return;
    refuse(fmt::format("no shell runs here: {} at character {} has no meaning",
                       command ? "$(" : std::string(1, text_[at_]), character(at_)),
           "quote it, or name a script that does this");
  }

  void take() {
    if (text_[at_] == '\0') {
      refuse(fmt::format("character {} is 0, which no command line can hold", character(at_)));
    }
    word_ += text_[at_++];
    in_word_ = true;
  }

  void end_word() {
    if (in_word_) words_.push_back(std::exchange(word_, {}));
    in_word_ = false;
  }

  void single_quoted() {
    const std::size_t opened = at_++;
    in_word_ = true;
    while (at_ < text_.size() && text_[at_] != '\'') take();
    close(opened);
  }

  void double_quoted() {
    const std::size_t opened = at_++;
    in_word_ = true;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : 'x';
      if (text_[at_] == '\\' && next == '\n') {
        at_ += 2;
        continue;
      }
      if (text_[at_] == '\\' && std::string_view("\\\"$`").find(next) != std::string_view::npos) {
        ++at_;
      } else {
        refuse_shell("`");
      }
      take();
    }
    close(opened);
  }

  void close(std::size_t opened) {
    if (at_ == text_.size()) {
      refuse(fmt::format("the quote {} at character {} is not closed", text_[opened],
                         character(opened)));
    }
    ++at_;
  }

  void escaped() {
    if (++at_ == text_.size()) {
      refuse(fmt::format("nothing follows the backslash at character {}", character(at_ - 1)));
    }
    if (text_[at_] == '\n') {
      ++at_;
    } else {
      take();
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;  // an empty word counts when it was quoted
  std::vector<std::string> words_;
};

struct Tool {
  std::string_view name;       // without folder and version: coverage-3.11 is coverage
  bool runs_python = false;    // followed by a script, not by a command
  std::string_view verb = {};  // a runner only with this among the words behind it
  bool closes_descriptors = false;
};

// What isn't here is a command prefix that keeps descriptors: env, nice, perf, strace, gdb, nsys
// and all that nobody has heard of. The command behind a prefix may itself be a tool, so each word
// is looked up.
constexpr std::array kTools{
    Tool{.name = "python", .runs_python = true},
    Tool{.name = "pypy", .runs_python = true},
    Tool{.name = "coverage", .runs_python = true, .verb = "run"},
    Tool{.name = "memray", .runs_python = true, .verb = "run"},
    Tool{.name = "viztracer", .runs_python = true},
    Tool{.name = "kernprof", .runs_python = true},
    Tool{.name = "pyinstrument", .runs_python = true},
    Tool{.name = "scalene", .runs_python = true},
    Tool{.name = "mpirun", .closes_descriptors = true},
    Tool{.name = "mpiexec", .closes_descriptors = true},
    Tool{.name = "mpiexec.hydra", .closes_descriptors = true},
    Tool{.name = "orterun", .closes_descriptors = true},
    Tool{.name = "prterun", .closes_descriptors = true},
    Tool{.name = "srun", .closes_descriptors = true},
    Tool{.name = "sudo", .closes_descriptors = true},
};

// Options of the usual prefixes whose value is a word of its own and may look like a tool's name
// (`perf record -o python`).
constexpr std::array<std::string_view, 8> kOptionsWithName{
    "-o", "--output", "-e", "--event", "--error", "-ex", "-J", "--job-name"};

// The tool that a word calls, if it calls one.
const Tool* tool_of(std::string_view word) {
  if (word.starts_with('-') || word.find('=') != word.npos) return nullptr;
  word.remove_prefix(word.rfind('/') + 1);  // npos + 1 is 0
  const std::size_t last = word.find_last_not_of("0123456789.-");
  word = word.substr(0, last + 1);
  const auto* found = std::ranges::find(kTools, word, &Tool::name);
  return found != kTools.end() ? found : nullptr;
}

// The first tool among the words for which `wanted` holds of it and the words behind it.
template <typename Wanted>
bool has_tool(std::span<const std::string> words, Wanted wanted) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool value =
        i > 0 && std::ranges::find(kOptionsWithName, words[i - 1]) != kOptionsWithName.end();
    const Tool* tool = value ? nullptr : tool_of(words[i]);
    if (tool != nullptr && wanted(*tool, words.subspan(i + 1))) return true;
  }
  return false;
}

bool runs_python(const Tool& tool, std::span<const std::string> behind) {
  return tool.runs_python &&
         (tool.verb.empty() || std::ranges::find(behind, tool.verb) != behind.end());
}

bool contains(const std::vector<std::string>& words, std::string_view field) {
  return std::ranges::any_of(words,
                             [&](const auto& word) { return word.find(field) != word.npos; });
}

// One pass: a path that itself holds a field's text stays as it is.
std::string replaced(std::string_view word, const std::string& python, const std::string& script) {
  std::string out;
  while (!word.empty()) {
    if (word.starts_with(kPythonField)) {
      out += python;
      word.remove_prefix(kPythonField.size());
    } else if (word.starts_with(kEngineField)) {
      out += script;
      word.remove_prefix(kEngineField.size());
    } else {
      out += word.front();
      word.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) { return Splitter(text).words(); }

std::vector<std::string> launch_command(const std::vector<std::string>& words,
                                        const std::string& python,
                                        const std::string& engine_script) {
  std::vector<std::string> command;
  command.reserve(words.size() + 2);
  if (contains(words, kEngineField)) {
    for (const auto& word : words) command.push_back(replaced(word, python, engine_script));
    return command;
  }
  if (contains(words, kPythonField)) {
    throw base::Error("cannot use launcher", fmt::format("{}", fmt::join(words, " ")),
                      "it says {python} but not where the engine goes",
                      "put {engine} where its script would stand");
  }
  command = words;
  if (!has_tool(words, runs_python)) command.push_back(python);
  command.push_back(engine_script);
  return command;
}

bool needs_named_channel(const std::vector<std::string>& words) {
  return has_tool(words, [](const Tool& tool, auto) { return tool.closes_descriptors; });
}

}  // namespace engine
