#pragma once
// Foreign text made safe to show: what isn't UTF-8, controls and marks that turn the direction of
// writing around never reach a terminal or a page as they are.

#include <cstddef>
#include <string>
#include <string_view>

namespace view {

// The first code point of `text` and its length in bytes. What isn't UTF-8 (RFC 3629; lone
// surrogates too) is U+FFFD, one byte long. `text` isn't empty.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
};
CodePoint first_code_point(std::string_view text) noexcept;

// True for C0 and C1 controls, DEL, line and paragraph separators and bidirectional controls.
bool is_control(char32_t value) noexcept;

// Plain text on one line: every control by its visible escape (\n, \x1b, \u202e), bytes that aren't
// UTF-8 by U+FFFD; cut to `most` code points, the last one then being "…". Reads no more of `text`
// than it shows.
std::string one_line(std::string_view text, std::size_t most);

// The first line that isn't blank.
std::string_view first_line(std::string_view text) noexcept;

// The columns that `text` (UTF-8) takes, one for every code point.
std::size_t width(std::string_view text) noexcept;

// `text` with spaces behind it up to that width.
std::string padded(std::string text, std::size_t columns);

}  // namespace view
