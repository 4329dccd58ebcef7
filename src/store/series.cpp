#include "store/series.hpp"

#include <algorithm>

namespace store {

void RateRange::count(const std::optional<RateInterval>& interval) {
  if (!interval) return;
  const double rate = interval->share();
  max_ = std::max(rate, max_.value_or(rate));
  min_ = std::min(rate, min_.value_or(rate));
}

void GaugeSeries::add(std::int64_t time_ns, record::Value value) {
  if (record::is_known(value)) {
    const auto number = static_cast<double>(value);
    if (record::is_known(last_) && !gaps_.between(last_time_ns_, time_ns)) {
      const auto step_ns = static_cast<double>(time_ns - last_time_ns_);
      const auto before = static_cast<double>(last_);
      weighted_ += (between_ == Between::kLine ? (before + number) / 2 : before) * step_ns;
      weight_ns_ += step_ns;
    }
    sum_ += number;
    count_ += 1;
    max_ = std::max(value, max_.value_or(value));
    min_ = std::min(value, min_.value_or(value));
  }
  last_ = value;
  last_time_ns_ = time_ns;
}

std::optional<double> GaugeSeries::mean() const noexcept {
  if (weight_ns_ > 0) return weighted_ / weight_ns_;
  if (count_ > 0) return sum_ / count_;
  return std::nullopt;
}

void RealSeries::add(std::int64_t time_ns, std::optional<double> number) {
  if (number) {
    if (last_ && !gaps_.between(last_time_ns_, time_ns)) {
      const auto step_ns = static_cast<double>(time_ns - last_time_ns_);
      weighted_ += (*last_ / 2 + *number / 2) * step_ns;  // halves: a sum might be infinite
      weight_ns_ += step_ns;
    }
    if (known_ && *number > *known_) gain_ += *number - *known_;
    known_ = number;
    sum_ += *number;
    ++samples_;
    max_ = std::max(*number, max_.value_or(*number));
    min_ = std::min(*number, min_.value_or(*number));
  }
  last_ = number;
  last_time_ns_ = time_ns;
}

std::optional<double> RealSeries::mean() const noexcept {
  if (weight_ns_ > 0) return std::clamp(weighted_ / weight_ns_, *min_, *max_);
  if (samples_ > 0) return sum_ / static_cast<double>(samples_);
  return std::nullopt;
}

}  // namespace store
