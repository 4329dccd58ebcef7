#include "store/rates.hpp"

#include <algorithm>
#include <cmath>

#include "record/real.hpp"
#include "store/counters.hpp"
#include "store/frame.hpp"

namespace store {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr std::int64_t kLeastProcessNs = 50'000'000;
constexpr std::int64_t kLeastNodeNs = 100'000'000;    // its CPU time counts in 10 ms steps
constexpr std::int64_t kLeastUserNs = 2'000'000'000;  // looked at once a second
// What else is looked at once a second: an interval ends with a new value.
constexpr std::int64_t kLeastSlowNs = 900'000'000;
constexpr std::int64_t kUnchangedNs = 2'500'000'000;

bool is_slow(std::string_view level, std::string_view metric) noexcept {
  if (metric.starts_with("net_") || metric.starts_with("pressure_")) return true;
  const bool paging = metric.ends_with("page_faults") || metric.starts_with("swap_");
  const bool device = metric.starts_with("gpu") || metric.starts_with("drm");
  return device || (level == "node" && paging);
}

}  // namespace

RowStep row_step(const GapTable& gaps, std::int64_t last_ns, std::int64_t time_ns) noexcept {
  return {time_ns, last_ns > 0 && gaps.between(last_ns, time_ns), gaps.period_ns(time_ns)};
}

double RateInterval::share() const noexcept {
  const auto time_ns = static_cast<double>(end_ns - begin_ns);
  return std::clamp(static_cast<double>(gained) / (time_ns * capacity_per_ns), 0.0, 1.0);
}

double RateInterval::per_second() const noexcept {
  const auto time_ns = static_cast<double>(end_ns - begin_ns);
  return std::max(static_cast<double>(gained) / time_ns * kNsPerSecond, 0.0);
}

RateRule rate_rule(std::string_view level, std::string_view metric) noexcept {
  if (level == "user") return {kLeastUserNs, 0, 0};
  if (is_slow(level, metric)) return {kLeastSlowNs, 0, kUnchangedNs};
  RateRule rule{level == "node" ? kLeastNodeNs : kLeastProcessNs, 0, 0};
  // A tree's total falls by rounding when a child is waited for.
  const auto name = std::ranges::find(kCounterNames, metric);
  if (level == "process" && name != kCounterNames.end()) {
    rule.rounding = rounding_of(static_cast<Counter>(name - kCounterNames.begin()));
  }
  return rule;
}

record::Value real_steps(record::Value value) noexcept {
  constexpr double kMost = 9e15;
  const auto number = record::number_of(true, value);
  if (!number || *number < 0 || *number > kMost) return record::unknown(record::State::kNotYet);
  return std::llround(*number / kRealStep);
}

std::optional<RateInterval> RateIntervals::add(const RowStep& step, record::Value value,
                                               double capacity_per_ns) {
  if (!record::is_known(value) || !(capacity_per_ns > 0)) {
    begin_.reset();
    last_.reset();
    return std::nullopt;
  }
  const Point now{step.time_ns, value, capacity_per_ns, step.period_ns};
  if (last_ && (last_->value - value > rule_.rounding || step.after_gap)) begin_.reset();
  const bool changed = !last_ || last_->value != value;
  last_ = now;
  if (!begin_) {
    begin_ = now;
    return std::nullopt;
  }
  const std::int64_t time_ns = step.time_ns - begin_->time_ns;
  if (time_ns < std::max(rule_.least_ns, begin_->period_ns / 2)) return std::nullopt;
  if (!changed && time_ns < rule_.unchanged_ns) return std::nullopt;
  std::optional<RateInterval> complete;
  if (from_) complete = between(*from_, *to_);
  from_ = begin_;
  to_ = begin_ = now;
  return complete;
}

std::optional<RateInterval> RateIntervals::finish() {
  std::optional<RateInterval> complete;
  if (from_) {
    if (begin_ && last_ && begin_->time_ns == to_->time_ns) to_ = last_;
    complete = between(*from_, *to_);
  }
  *this = RateIntervals(rule_);
  return complete;
}

RateInterval RateIntervals::between(const Point& begin, const Point& end) noexcept {
  return {begin.time_ns, end.time_ns, end.value - begin.value, end.capacity_per_ns};
}

}  // namespace store
