#pragma once
// One clock: CLOCK_MONOTONIC in nanoseconds, everywhere (samples, cells, trace events).

#include <cstdint>
#include <ctime>
#include <string>

namespace base {

inline std::int64_t to_ns(const timespec& time) noexcept {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

inline std::int64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  return clock_gettime(clock, &now) == 0 ? to_ns(now) : -1;
}

inline std::int64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

// CLOCK_REALTIME - CLOCK_MONOTONIC, in ns: what turns a recorded time into a wall-clock time.
std::int64_t wall_offset_ns() noexcept;

// ISO 8601 in UTC with microseconds: "2026-11-29T14:54:20.123456Z". `wall_ns` = ns since 1970.
std::string iso_utc(std::int64_t wall_ns);

// The same in the local time zone, to the second and without a zone: "2026-11-29 15:54:20".
std::string local_time(std::int64_t wall_ns);

}  // namespace base
