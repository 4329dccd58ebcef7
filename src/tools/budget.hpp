#pragma once
// What the sampler may cost: a tenth of a core at up to 10 Hz, more where the user asks for more
// samples, half a core at most. When ticks cost more, detail goes first (what is beyond tree and
// node is read once a second only), then the rate, by halves, never below 1 Hz; when they cost a
// quarter of that, both come back the same way, detail after a minute.

#include <algorithm>
#include <cstdint>

namespace tools {

class Budget {
 public:
  // Of one core.
  static double most_share(double wished_hz) noexcept {
    return std::clamp(wished_hz / 100, 0.1, 0.5);
  }
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
    const double most = most_share(wished_hz);
    if (share > most) {
      if (lean_ && rate_hz(wished_hz) / 2 < kLeastRateHz) return false;
      if (lean_) divisor_ *= 2;
      lean_ = true;
    } else if (share < most / 4 && divisor_ > 1) {
      divisor_ /= 2;
    } else if (share < most / 4 && lean_ && now_ns - changed_ns_ >= kRetryNs) {
      lean_ = false;
    } else {
      return false;
    }
    ticks_ = 0;
    changed_ns_ = now_ns;
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
  double mean_ns_ = 0;
  int ticks_ = 0;  // since the last change
  bool lean_ = false;
  std::int64_t changed_ns_ = 0;
  double divisor_ = 1;
};

}  // namespace tools
