#pragma once
// Walks over a text of the kernel, word by word. Stays inside the view whatever it holds; a number
// that isn't one, or is too large to be true, is nullopt and is stepped over.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace probe {

// Larger numbers are no counters (2^60 ns are 36 years): so seven of them add up in an int64.
inline constexpr std::int64_t kMostNumber = std::int64_t{1} << 60;

// USER_HZ, the unit of times in /proc, is 100 on every x86-64 and aarch64 Linux (an ABI constant).
inline constexpr std::int64_t kTickNs = 10'000'000;

class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : rest_(text) {}

  [[nodiscard]] bool done() const noexcept { return rest_.empty(); }

  // The next line without its end; empty lines are lines.
  std::string_view line() noexcept { return take(rest_.find('\n')); }

  // The next word (blanks, tabs and line ends separate); empty when there is none.
  std::string_view word() noexcept {
    std::size_t begin = 0;
    while (begin < rest_.size() && is_blank(rest_[begin])) ++begin;
    rest_.remove_prefix(begin);
    std::size_t length = 0;
    while (length < rest_.size() && !is_blank(rest_[length])) ++length;
    return take(length);
  }

  // The next word as a number >= 0.
  std::optional<std::int64_t> number() noexcept {
    const std::string_view text = word();
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc{} || stop != end || value < 0 || value > kMostNumber) {
      return std::nullopt;
    }
    return value;
  }

  // The same, times `factor`.
  std::optional<std::int64_t> number_times(std::int64_t factor) noexcept {
    const auto value = number();
    if (!value || *value > kMostNumber / factor) return std::nullopt;
    return *value * factor;
  }

  void skip_words(int count) noexcept {
    for (int i = 0; i < count; ++i) word();
  }

 private:
  static constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n'; }

  std::string_view take(std::size_t length) noexcept {
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length < rest_.size() ? length + 1 : rest_.size());
    return taken;
  }

  std::string_view rest_;
};

// The number behind `label` (its colon included) in a text of "Label:   123 kB" lines, times
// `factor`. nullopt when there is no such line.
inline std::optional<std::int64_t> labelled_number(std::string_view text, std::string_view label,
                                                   std::int64_t factor) noexcept {
  for (Scanner lines(text); !lines.done();) {
    const std::string_view line = lines.line();
    if (!line.starts_with(label)) continue;
    return Scanner(line.substr(label.size())).number_times(factor);
  }
  return std::nullopt;
}

}  // namespace probe
