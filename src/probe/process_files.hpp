#pragma once
// Files under /proc/PID, kept open where the descriptors last. A kept descriptor stays with its
// process: once that has ended, reading gives ESRCH even when another got the number.

#include <sys/types.h>

#include <array>
#include <span>
#include <string_view>

#include "base/file.hpp"

namespace probe {

// Where processes are found, and how many descriptors may be kept.
class ProcDirectory {
 public:
  // `root`/proc. valid() is false when it can't be opened. The descriptor limit is taken now.
  // `keep`: files below it may be kept open.
  explicit ProcDirectory(std::string_view root, bool keep = true);

  [[nodiscard]] bool valid() const noexcept { return directory_.valid(); }
  [[nodiscard]] int fd() const noexcept { return directory_.fd(); }
  // True for this machine's /proc of our own pid namespace, by whose numbers CPU clocks go.
  [[nodiscard]] bool has_our_numbers() const noexcept { return has_our_numbers_; }
  // True for numbers low enough to leave some for files that are opened and closed.
  [[nodiscard]] bool may_keep(int fd) const noexcept { return fd < keep_below_; }

 private:
  base::File directory_;
  bool has_our_numbers_;
  int keep_below_;
};

// "PID/name", or "PID/task/TID/name", without allocating.
class ProcPath {
 public:
  ProcPath(pid_t pid, std::string_view name) noexcept;
  ProcPath(pid_t pid, pid_t thread, std::string_view name) noexcept;
  [[nodiscard]] const char* text() const noexcept { return text_.data(); }

 private:
  void add(std::string_view part) noexcept;
  void add(pid_t number) noexcept;
  std::array<char, 64> text_{};
  std::size_t size_ = 0;
};

enum class Access : unsigned char {
  kRead,     // the text may be empty
  kGone,     // no such process, or no such file
  kRefused,  // not permitted to us
  kFailed,   // anything else, e.g. no descriptor left: says nothing about the process
};

struct Text {
  Access access = Access::kFailed;
  std::string_view text;  // in the caller's buffer
};

// One file of one process. Reads open it when it isn't kept: after kRead the caller checks the
// process's start time, unless kept() was true before.
class ProcessFile {
 public:
  Text read(const ProcDirectory& proc, const char* path, std::span<char> buffer) noexcept;
  [[nodiscard]] bool kept() const noexcept { return file_.valid(); }
  void close() noexcept { file_.close(); }

 private:
  base::File file_;
};

}  // namespace probe
