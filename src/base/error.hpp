#pragma once
// Errors of opening, starting, and of files that someone named: thrown as base::Error.
// Ticks, events and pushes never throw (they return bool or optional).

#include <stdexcept>
#include <string>
#include <string_view>

namespace base {

// What was tried, on what, why it failed and, when known, what to do about it.
// what() reads: "cannot open recording '/x/y': Permission denied (errno 13); choose another with
// -o".
class Error : public std::runtime_error {
 public:
  // `code` is an errno value, or 0 when the operating system was not the reason.
  Error(std::string_view verb_phrase, std::string_view object, int code,
        std::string_view remedy = {});
  // For reasons that are not an errno: "cannot read recording 'x': it is not a recording".
  Error(std::string_view verb_phrase, std::string_view object, std::string_view reason,
        std::string_view remedy = {});

  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] const std::string& object() const noexcept { return object_; }

 private:
  int code_;
  std::string object_;
};

// The system's words for an errno value, in English ("Permission denied"). Thread-safe.
std::string errno_text(int code);

}  // namespace base
