#pragma once
// Points of base::monotonic_ns() until which somebody waits.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/clock.hpp"

namespace engine {

constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();

inline std::int64_t in_seconds(double seconds) noexcept {
  return base::monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
}

// What poll(2) takes: ms until then, rounded up, at most an hour (whoever polls looks again); 0
// when it has passed.
inline int poll_ms(std::int64_t deadline_ns) noexcept {
  constexpr std::int64_t kMost_ms = 3'600'000;
  const std::int64_t now_ns = base::monotonic_ns();
  if (deadline_ns <= now_ns) return 0;
  return static_cast<int>(std::min((deadline_ns - now_ns - 1) / 1'000'000 + 1, kMost_ms));
}

}  // namespace engine
