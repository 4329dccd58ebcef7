#pragma once
// When the next tick is due: an absolute schedule, so that ticks don't drift; what was missed is
// left out, never caught up in a burst.

#include <algorithm>
#include <cstdint>

namespace tools {

inline constexpr double kLeastRateHz = 0.1;
inline constexpr double kMostRateHz = 1000.0;

class Schedule {
 public:
  Schedule(double rate_hz, std::int64_t now_ns) noexcept { set_rate(rate_hz, now_ns); }

  // The next tick is one period from now.
  void set_rate(double rate_hz, std::int64_t now_ns) noexcept {
    rate_hz_ = rate_hz >= kLeastRateHz ? std::min(rate_hz, kMostRateHz) : kLeastRateHz;
    period_ns_ = static_cast<std::int64_t>(1e9 / rate_hz_);
    next_ns_ = now_ns + period_ns_;
  }

  [[nodiscard]] double rate_hz() const noexcept { return rate_hz_; }
  [[nodiscard]] std::int64_t period_ns() const noexcept { return period_ns_; }
  [[nodiscard]] std::int64_t next_ns() const noexcept { return next_ns_; }
  [[nodiscard]] bool is_due(std::int64_t now_ns) const noexcept { return now_ns >= next_ns_; }

  // A tick is taken now: moves on to the first time of the schedule that lies ahead. True when
  // the tick came more than half a period late.
  bool advance(std::int64_t now_ns) noexcept {
    const std::int64_t late_ns = now_ns - next_ns_;
    next_ns_ += (late_ns / period_ns_ + 1) * period_ns_;
    return late_ns > period_ns_ / 2;
  }

 private:
  double rate_hz_ = kLeastRateHz;
  std::int64_t period_ns_ = 0;
  std::int64_t next_ns_ = 0;
};

}  // namespace tools
