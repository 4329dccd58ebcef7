#pragma once
// `jumper doctor`: everything that JUmPER needs of a machine, tried for real. Nothing is changed
// and nothing stays. A check is a function in a table (doctor.cpp); each runs in a child of its
// own with a time limit (doctor_apart.hpp), so one that hangs or dies is a finding, no more.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tools {

enum class Result : std::uint8_t {
  kOk,
  kLimited,  // something is off, less exact, or will be off in a later feature
  kMissing,  // cells can't be measured or recorded
};

struct Finding {
  std::string group;  // "levels", "system calls", …
  std::string what;
  Result result = Result::kOk;
  std::string reason;  // what was found, or what is off and why
  std::string remedy;  // what would help; empty when nothing is wrong or nothing helps
};

std::string_view result_word(Result result) noexcept;  // "ok", "limited", "missing"

// {"group": …, "what": …, "result": …, "reason": …, "remedy": …} without a line end, and back:
// nullopt for what is no such line. Bytes that aren't UTF-8 become U+FFFD.
std::string finding_json(const Finding& finding);
std::optional<Finding> read_finding(std::string_view line);

// Whom and what the checks are about.
struct Subject {
  std::string root = "/";  // where proc/ and sys/ lie; tests pass a made-up tree
  pid_t pid = 0;           // whose tree is level `process`
  std::string program;     // our own path
  std::string python;      // the notebooks' interpreter; empty: none was found
};

// What a check says, one by one.
class Sheet {
 public:
  using Sink = std::function<void(const Finding&)>;
  Sheet(std::string group, Sink sink) : group_(std::move(group)), sink_(std::move(sink)) {}

  void group(std::string_view name) { group_ = name; }
  void ok(std::string_view what, std::string_view reason) const;
  void limited(std::string_view what, std::string_view reason, std::string_view remedy = {}) const;
  void missing(std::string_view what, std::string_view reason, std::string_view remedy = {}) const;
  void say(Finding finding) const;  // in its own group when it has one

 private:
  std::string group_;
  Sink sink_;
};

// The first program `name` of PATH; "" when there is none. Folders that PATH names relative to the
// current one count only when asked for: what lies there is never run.
std::string find_on_path(const std::string& name, bool also_relative);

// The checks. Each may fork, but not call exit().
void check_program(const Subject& subject, Sheet& sheet);
void check_measuring(const Subject& subject, Sheet& sheet);  // levels, sources, limits, GPU
void check_calls(const Subject& subject, Sheet& sheet);
void check_processes(const Subject& subject, Sheet& sheet);
void check_places(const Subject& subject, Sheet& sheet);
void check_clocks(const Subject& subject, Sheet& sheet);
void check_python(const Subject& subject, Sheet& sheet);

// The text of a finding: result, what, reason and remedy in columns, 100 wide at most (a longer
// word stays whole). Foreign characters are made visible.
std::string finding_text(const Finding& finding, bool colours);

}  // namespace tools
