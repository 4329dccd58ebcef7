#include "view/escape.hpp"

#include <fmt/format.h>

#include "view/history.hpp"

namespace view {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::string_view kReplacementText = "\uFFFD";
constexpr std::string_view kEllipsis = "…";

std::string visible_escape(char32_t value) {
  if (value == U'\n') return "\\n";
  if (value == U'\t') return "\\t";
  if (value == U'\r') return "\\r";
  const auto number = static_cast<std::uint32_t>(value);
  return number < 0x80 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

}  // namespace

CodePoint first_code_point(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead < 0xC2   ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || text.size() < length) return {kReplacement, 1};
  char32_t value = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kReplacement, 1};
    value = (value << 6) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (overlong || surrogate || value > 0x10FFFF) return {kReplacement, 1};
  return {value, length};
}

bool is_control(char32_t value) noexcept {
  return value < 0x20 || (value >= 0x7F && value < 0xA0) || value == 0x200E || value == 0x200F ||
         (value >= 0x2028 && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069) ||
         value == 0xFEFF;
}

std::string one_line(std::string_view text, std::size_t most) {
  std::string out;
  std::size_t shown = 0;
  while (!text.empty()) {
    const CodePoint next = first_code_point(text);
    std::string piece = is_control(next.value)       ? visible_escape(next.value)
                        : next.value == kReplacement ? std::string(kReplacementText)
                                                     : std::string(text.substr(0, next.bytes));
    const std::size_t columns = is_control(next.value) ? piece.size() : 1;
    text.remove_prefix(next.bytes);
    if (shown + columns > most - (text.empty() ? 0 : 1)) {
      out += kEllipsis;
      break;
    }
    shown += columns;
    out += piece;
  }
  return out;
}

std::string_view first_line(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  text.remove_prefix(begin);
  return text.substr(0, text.find_first_of("\r\n"));
}

std::size_t width(std::string_view text) noexcept {
  std::size_t columns = 0;
  for (const char one : text) columns += (static_cast<unsigned char>(one) & 0xC0) != 0x80 ? 1 : 0;
  return columns;
}

std::string padded(std::string text, std::size_t columns) {
  const std::size_t has = width(text);
  if (has < columns) text.append(columns - has, ' ');
  return text;
}

std::string html_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint next = first_code_point(text);
    switch (next.value) {
      case U'&':
        out += "&amp;";
        break;
      case U'<':
        out += "&lt;";
        break;
      case U'>':
        out += "&gt;";
        break;
      case U'"':
        out += "&quot;";
        break;
      case U'\'':
        out += "&#39;";
        break;
      case kReplacement:
        out += kReplacementText;
        break;
      default:
        if (is_control(next.value) && next.value != U'\n' && next.value != U'\t') {
          out += visible_escape(next.value);
        } else {
          out.append(text.substr(0, next.bytes));
        }
    }
    text.remove_prefix(next.bytes);
  }
  return out;
}

}  // namespace view
