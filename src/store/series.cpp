#include "store/series.hpp"

#include <algorithm>

namespace store {

void RateRange::add(std::int64_t time_ns, record::Value value, double capacity) {
  if (!record::is_known(value) || !(capacity > 0)) {
    begin_.reset();
    last_.reset();
    return;
  }
  const Point now{time_ns, value, capacity};
  if (last_ && (last_->value - value > rounding_ || gaps_.between(last_->time_ns, time_ns))) {
    begin_.reset();
  }
  last_ = now;
  if (!begin_) {
    begin_ = now;
    return;
  }
  const std::int64_t least_ns = std::max(least_ns_, gaps_.period_ns(begin_->time_ns) / 2);
  if (time_ns - begin_->time_ns < least_ns) return;
  if (complete_) count(*complete_);
  complete_ = Interval{*begin_, now};
  begin_ = now;
}

void RateRange::finish() {
  if (!complete_) return;
  if (begin_ && last_ && begin_->time_ns == complete_->end.time_ns) complete_->end = *last_;
  count(*complete_);
  complete_.reset();
}

void RateRange::count(const Interval& interval) {
  const auto gained = static_cast<double>(interval.end.value - interval.begin.value);
  const auto time_ns = static_cast<double>(interval.end.time_ns - interval.begin.time_ns);
  const double rate = std::clamp(gained / (time_ns * interval.end.capacity), 0.0, 1.0);
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

}  // namespace store
