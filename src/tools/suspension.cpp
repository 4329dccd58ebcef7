#include "tools/suspension.hpp"

#include <fmt/format.h>

#include <utility>

namespace tools {
namespace {

constexpr std::int64_t kLeastNs = 100'000'000;  // two reads of clocks may lie that far apart

}  // namespace

std::optional<record::Gap> Suspension::note(std::int64_t monotonic_ns, std::int64_t boot_ns) {
  if (boot_ns < 0) return std::nullopt;
  const std::int64_t before_ns = std::exchange(last_ns_, monotonic_ns);
  const std::int64_t ahead_ns = boot_ns - monotonic_ns;
  if (before_ns != 0 && ahead_ns - ahead_ns_ > kLeastNs) {
    const double slept_s = static_cast<double>(ahead_ns - ahead_ns_) / 1e9;
    ahead_ns_ = ahead_ns;
    return record::Gap{before_ns, monotonic_ns, record::GapReason::kClockJump,
                       fmt::format("the machine was suspended for {:.1f} s", slept_s)};
  }
  // Slowly: a small difference is the reading's own, and doesn't add up to a sleep.
  ahead_ns_ = ahead_ns;
  return std::nullopt;
}

}  // namespace tools
