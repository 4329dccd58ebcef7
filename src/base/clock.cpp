#include "base/clock.hpp"

#include <fmt/format.h>

namespace base {

std::int64_t wall_offset_ns() noexcept {
  // The middle of two monotonic reads belongs to the wall read between them.
  const std::int64_t before = monotonic_ns();
  const std::int64_t wall = clock_ns(CLOCK_REALTIME);
  const std::int64_t after = monotonic_ns();
  return wall - (before + (after - before) / 2);
}

namespace {

// Floor division, so that times before 1970 keep a positive fraction.
std::time_t whole_seconds(std::int64_t wall_ns) noexcept {
  return static_cast<std::time_t>((wall_ns >= 0 ? wall_ns : wall_ns - 999'999'999) / 1'000'000'000);
}

}  // namespace

std::string iso_utc(std::int64_t wall_ns) {
  const std::time_t seconds = whole_seconds(wall_ns);
  const std::int64_t micros = (wall_ns - static_cast<std::int64_t>(seconds) * 1'000'000'000) / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     micros);
}

std::string local_time(std::int64_t wall_ns) {
  const std::time_t seconds = whole_seconds(wall_ns);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace base
