#include "probe/cgroup_cpu.hpp"

#include <algorithm>

#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr std::int64_t kMicrosecondNs = 1000;
constexpr std::int64_t kUsualPeriodUs = 100'000;

// nullopt for a period that is none.
std::optional<std::int64_t> millicores(std::optional<std::int64_t> quota_us,
                                       std::optional<std::int64_t> period_us) noexcept {
  constexpr std::int64_t kMostQuotaUs = std::int64_t{1} << 45;  // of the kernel: 2^44 us
  if (!quota_us || !period_us || *period_us <= 0 || *quota_us > kMostQuotaUs) return std::nullopt;
  return std::max<std::int64_t>(*quota_us * 1000 / *period_us, 1);
}

}  // namespace

std::optional<std::int64_t> parse_cpu_max(std::string_view text) noexcept {
  Scanner words(text);
  const std::string_view quota = words.word();
  if (quota == "max") return kNoLimit;
  const std::string_view period = words.word();
  return millicores(Scanner(quota).number(),
                    period.empty() ? kUsualPeriodUs : Scanner(period).number());
}

std::optional<std::int64_t> parse_cfs_quota(std::string_view quota,
                                            std::string_view period) noexcept {
  Scanner words(quota);
  const std::string_view word = words.word();
  if (word.starts_with('-')) return kNoLimit;
  return millicores(Scanner(word).number(), Scanner(period).number());
}

CgroupCpu parse_cpu_stat(std::string_view text) noexcept {
  CgroupCpu cpu;
  for (Scanner lines(text); !lines.done();) {
    Scanner words(lines.line());
    const std::string_view name = words.word();
    const auto put = [&](record::Value& value, std::int64_t factor) {
      value = words.number_times(factor).value_or(value);
    };
    if (name == "usage_usec") put(cpu.usage_ns, kMicrosecondNs);
    if (name == "throttled_usec") put(cpu.throttled_ns, kMicrosecondNs);
    if (name == "throttled_time") put(cpu.throttled_ns, 1);
    if (name == "nr_throttled") put(cpu.throttled_periods, 1);
  }
  return cpu;
}

}  // namespace probe
