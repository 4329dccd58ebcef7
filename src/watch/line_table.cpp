#include "watch/line_table.hpp"

#include <algorithm>
#include <limits>

namespace watch {
namespace {

constexpr std::uint8_t kEntry = 0x80;
constexpr std::uint8_t kMore = 0x40;
constexpr unsigned kBits = 6;
constexpr unsigned kMostBits = 36;  // lines are 32-bit integers
constexpr std::size_t kUnitBytes = 2;

enum Kind : unsigned {
  kFirstOneLine = 10,
  kLastOneLine = 12,
  kNoColumns = 13,
  kLong = 14,
  kNone = 15,
};

// The number at the front of `bytes`, which stops at the next entry; nullopt when it is cut.
std::optional<std::int64_t> signed_at(std::span<const std::uint8_t> bytes) noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < kMostBits && !bytes.empty(); shift += kBits) {
    const std::uint8_t byte = bytes.front();
    if ((byte & kEntry) != 0) return std::nullopt;
    value |= static_cast<std::uint64_t>(byte & (kMore - 1U)) << shift;
    if ((byte & kMore) == 0) {
      const auto size = static_cast<std::int64_t>(value >> 1U);
      return (value & 1U) != 0 ? -size : size;
    }
    bytes = bytes.subspan(1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> line_of(std::span<const std::uint8_t> table, std::int64_t first_line,
                                    std::size_t offset) noexcept {
  constexpr std::int64_t kMostLine = std::numeric_limits<std::int32_t>::max();
  std::int64_t line = first_line;
  std::size_t end = 0;
  while (!table.empty()) {
    const std::uint8_t head = table.front();
    if ((head & kEntry) == 0) return std::nullopt;
    table = table.subspan(1);
    const unsigned kind = (head >> 3U) & 15U;
    if (kind >= kFirstOneLine && kind <= kLastOneLine) {
      line += kind - kFirstOneLine;
    } else if (kind == kNoColumns || kind == kLong) {
      const auto lines = signed_at(table);
      if (!lines) return std::nullopt;
      line += *lines;
    }
    // Lines stay small whatever the bytes are, so sums of them never overflow.
    if (line < -kMostLine || line > kMostLine) return std::nullopt;
    end += ((head & 7U) + 1) * kUnitBytes;
    if (offset < end) {
      if (kind == kNone || line < 0) return std::nullopt;
      return line;
    }
    const auto next =
        std::ranges::find_if(table, [](std::uint8_t byte) { return (byte & kEntry) != 0; });
    table = table.subspan(static_cast<std::size_t>(next - table.begin()));
  }
  return std::nullopt;
}

}  // namespace watch
