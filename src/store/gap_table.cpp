#include "store/gap_table.hpp"

#include <algorithm>
#include <cmath>

namespace store {
namespace {

constexpr std::int64_t kDefaultPeriodNs = 100'000'000;
constexpr std::int64_t kSmallestHoleNs = 500'000'000;
constexpr std::int64_t kHolePeriods = 3;
constexpr double kNsPerSecond = 1e9;
constexpr double kLeastRateHz = 1e-6;
constexpr double kMostRateHz = 1e6;

std::int64_t period_of(double rate_hz) noexcept {
  if (!(rate_hz >= kLeastRateHz && rate_hz <= kMostRateHz)) return kDefaultPeriodNs;
  return static_cast<std::int64_t>(kNsPerSecond / rate_hz);
}

}  // namespace

Periods::Periods(const std::vector<record::Settings>& settings) {
  for (const record::Settings& one : settings) {
    since_.emplace_back(one.time_ns, period_of(one.rate_hz));
  }
  std::stable_sort(since_.begin(), since_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

std::int64_t Periods::at(std::int64_t time_ns) const noexcept {
  const auto behind =
      std::upper_bound(since_.begin(), since_.end(), time_ns,
                       [](std::int64_t time, const auto& entry) { return time < entry.first; });
  if (behind != since_.begin()) return std::prev(behind)->second;
  return since_.empty() ? kDefaultPeriodNs : since_.front().second;
}

GapTable::GapTable(const Recording& recording, std::int64_t begin_ns, std::int64_t end_ns)
    : periods_(recording.settings()) {
  for (const record::Gap& gap : recording.gaps()) {
    if (gap.begin_ns < end_ns && gap.end_ns > begin_ns)
      gaps_.emplace_back(gap.begin_ns, gap.end_ns);
  }
  std::sort(gaps_.begin(), gaps_.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < gaps_.size(); ++i) {
    if (kept > 0 && gaps_[i].first <= gaps_[kept - 1].second) {
      gaps_[kept - 1].second = std::max(gaps_[kept - 1].second, gaps_[i].second);
    } else {
      gaps_[kept++] = gaps_[i];
    }
  }
  gaps_.resize(kept);
}

bool GapTable::between(std::int64_t earlier_ns, std::int64_t later_ns) const noexcept {
  const std::int64_t hole_ns = later_ns - earlier_ns;
  if (hole_ns > kSmallestHoleNs && hole_ns / kHolePeriods > periods_.at(earlier_ns)) return true;
  const auto gap = std::partition_point(gaps_.begin(), gaps_.end(), [earlier_ns](const auto& one) {
    return one.second <= earlier_ns;
  });
  return gap != gaps_.end() && gap->first < later_ns;
}

}  // namespace store
