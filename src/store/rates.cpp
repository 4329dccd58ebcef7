#include "store/rates.hpp"

#include <algorithm>

#include "store/counters.hpp"
#include "store/frame.hpp"

namespace store {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr std::int64_t kLeastProcessNs = 50'000'000;
constexpr std::int64_t kLeastNodeNs = 100'000'000;    // its CPU time counts in 10 ms steps
constexpr std::int64_t kLeastSlowNs = 2'000'000'000;  // of what is looked at once a second

bool is_slow(std::string_view level, std::string_view metric) noexcept {
  if (level == "user" || metric.starts_with("net_") || metric.starts_with("pressure_")) return true;
  const bool paging = metric.ends_with("page_faults") || metric.starts_with("swap_");
  const bool device = metric.starts_with("gpu") || metric.starts_with("drm");
  return device || (level == "node" && paging);
}

}  // namespace

double RateInterval::share() const noexcept {
  const auto time_ns = static_cast<double>(end_ns - begin_ns);
  return std::clamp(static_cast<double>(gained) / (time_ns * capacity_per_ns), 0.0, 1.0);
}

double RateInterval::per_second() const noexcept {
  const auto time_ns = static_cast<double>(end_ns - begin_ns);
  return std::max(static_cast<double>(gained) / time_ns * kNsPerSecond, 0.0);
}

RateRule rate_rule(std::string_view level, std::string_view metric) noexcept {
  RateRule rule{level == "node" ? kLeastNodeNs : kLeastProcessNs, 0};
  if (is_slow(level, metric)) rule.least_ns = kLeastSlowNs;
  // A tree's total falls by rounding when a child is waited for.
  const auto name = std::ranges::find(kCounterNames, metric);
  if (level == "process" && name != kCounterNames.end()) {
    rule.rounding = rounding_of(static_cast<Counter>(name - kCounterNames.begin()));
  }
  return rule;
}

std::optional<RateInterval> RateIntervals::add(std::int64_t time_ns, record::Value value,
                                               double capacity_per_ns) {
  if (!record::is_known(value) || !(capacity_per_ns > 0)) {
    begin_.reset();
    last_.reset();
    return std::nullopt;
  }
  const Point now{time_ns, value, capacity_per_ns};
  if (last_ && (last_->value - value > rule_.rounding || gaps_.between(last_->time_ns, time_ns))) {
    begin_.reset();
  }
  last_ = now;
  if (!begin_) {
    begin_ = now;
    return std::nullopt;
  }
  const std::int64_t least_ns = std::max(rule_.least_ns, gaps_.period_ns(begin_->time_ns) / 2);
  if (time_ns - begin_->time_ns < least_ns) return std::nullopt;
  std::optional<RateInterval> complete;
  if (from_) complete = between(*from_, *to_);
  from_ = begin_;
  to_ = begin_ = now;
  return complete;
}

std::optional<RateInterval> RateIntervals::finish() {
  if (!from_) return std::nullopt;
  if (begin_ && last_ && begin_->time_ns == to_->time_ns) to_ = last_;
  const RateInterval complete = between(*from_, *to_);
  from_.reset();
  return complete;
}

RateInterval RateIntervals::between(const Point& begin, const Point& end) noexcept {
  return {begin.time_ns, end.time_ns, end.value - begin.value, end.capacity_per_ns};
}

}  // namespace store
