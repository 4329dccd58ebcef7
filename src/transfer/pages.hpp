#pragma once
// Pages of this machine, and ranges of bytes in a segment.

#include <unistd.h>

#include <cstddef>

namespace transfer {

// From the segment's begin.
struct Range {
  std::size_t offset_bytes = 0;
  std::size_t size_bytes = 0;
  bool operator==(const Range&) const = default;
};

// 4 KiB on x86-64, up to 64 KiB on others.
inline std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// `alignment` is a power of two.
constexpr std::size_t round_down(std::size_t value, std::size_t alignment) noexcept {
  return value & ~(alignment - 1);
}

constexpr std::size_t round_up(std::size_t value, std::size_t alignment) noexcept {
  return round_down(value + alignment - 1, alignment);
}

}  // namespace transfer
