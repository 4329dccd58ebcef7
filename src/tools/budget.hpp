#pragma once
// What the sampler may cost. When ticks cost more than a tenth of a core, detail goes first (what
// is beyond tree and node is read once a second only), then the rate, by halves, never below 1 Hz;
// when they cost a quarter of that, both come back the same way, detail after a minute.

#include <algorithm>
#include <cstdint>

namespace tools {

class Budget {
 public:
  static constexpr double kMostShare = 0.1;    // of one core
  static constexpr double kLeastRateHz = 1.0;  // it isn't lowered further
  static constexpr int kTicksToJudge = 8;      // that many before anything changes
  static constexpr std::int64_t kRetryNs = 60'000'000'000;

  // A tick has cost so much CPU time at the rate that the user wishes. True when the detail or the
  // rate has changed.
  bool note(std::int64_t cost_ns, double wished_hz, std::int64_t now_ns) noexcept {
    const auto cost = static_cast<double>(std::max<std::int64_t>(cost_ns, 0));
    mean_ns_ = ticks_ == 0 ? cost : mean_ns_ + (cost - mean_ns_) / kTicksToJudge;
    if (++ticks_ < kTicksToJudge) return false;
    const double share = mean_ns_ * rate_hz(wished_hz) / 1e9;
    if (share > kMostShare) {
      if (!lean_) return lower_detail(now_ns);
      if (rate_hz(wished_hz) / 2 < kLeastRateHz) return false;
      divisor_ *= 2;
    } else if (share < kMostShare / 4 && divisor_ > 1) {
      divisor_ /= 2;
    } else if (share < kMostShare / 4 && lean_ && now_ns - lean_since_ns_ >= kRetryNs) {
      lean_ = false;
    } else {
      return false;
    }
    ticks_ = 0;
    return true;
  }

  // The user wishes another rate: what is too much of it is found out anew.
  void forget_rate() noexcept {
    divisor_ = 1;
    ticks_ = 0;
  }

  [[nodiscard]] bool lean() const noexcept { return lean_; }
  [[nodiscard]] double rate_hz(double wished_hz) const noexcept { return wished_hz / divisor_; }

 private:
  bool lower_detail(std::int64_t now_ns) noexcept {
    lean_ = true;
    lean_since_ns_ = now_ns;
    ticks_ = 0;
    return true;
  }

  double mean_ns_ = 0;
  int ticks_ = 0;  // since the last change
  bool lean_ = false;
  std::int64_t lean_since_ns_ = 0;
  double divisor_ = 1;
};

}  // namespace tools
