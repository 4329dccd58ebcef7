#pragma once
// One text of the kernel (/proc, /sys) that is kept open and read again and again.

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "probe/missing.hpp"
#include "record/value.hpp"

namespace probe {

class KernelFile {
 public:
  KernelFile() = default;
  // Opens `root` + `path` ("/proc/stat"). valid() is false when that failed; reason() says why.
  KernelFile(const std::string& root, std::string_view path);

  [[nodiscard]] bool valid() const noexcept { return file_.valid(); }
  [[nodiscard]] int fd() const noexcept { return file_.fd(); }
  // What the values are that it doesn't give.
  [[nodiscard]] record::State state() const noexcept { return state_; }
  // "cannot open /proc/stat: No such file or directory"; "" while nothing failed.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  // The errno of that; 0 while nothing failed.
  [[nodiscard]] int error() const noexcept { return error_; }
  // Says that reason for each of `metrics`, if there is one.
  void say_missing(MissingList& missing, std::initializer_list<std::string_view> metrics) const;

  // The text now, complete lines only (half a number is a wrong one); empty when it can't be read.
  // In `buffer` when it fits, else in one of its own, which is allocated when the text has grown.
  std::string_view read_lines(std::span<char> buffer) noexcept;

 private:
  base::File file_;
  record::State state_ = record::State::kNotSupported;
  std::string reason_;
  int error_ = 0;
  std::vector<char> larger_;
};

}  // namespace probe
