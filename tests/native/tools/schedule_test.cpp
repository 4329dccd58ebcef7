#include "tools/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tools {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(Schedule, KeepsToItsTimesWhateverEachTickTakes) {
  Schedule schedule(10, 0);
  for (std::int64_t tick = 1; tick <= 100; ++tick) {
    EXPECT_EQ(schedule.next_ns(), tick * 100 * kMs);
    EXPECT_FALSE(schedule.advance(tick * 100 * kMs + tick % 7 * kMs));
  }
}

TEST(Schedule, LeavesOutWhatWasMissedInsteadOfCatchingUp) {
  Schedule schedule(10, 0);
  EXPECT_TRUE(schedule.advance(1'234 * kMs));
  EXPECT_EQ(schedule.next_ns(), 1'300 * kMs);
}

TEST(Schedule, CallsATickLateFromHalfAPeriodOn) {
  Schedule schedule(10, 0);
  EXPECT_FALSE(schedule.advance(150 * kMs));
  EXPECT_TRUE(schedule.advance(251 * kMs));
}

TEST(Schedule, ChangesItsRateFromNowOn) {
  Schedule schedule(0.1, 0);
  schedule.set_rate(1000, 5 * kMs);
  EXPECT_EQ(schedule.next_ns(), 6 * kMs);
}

TEST(Schedule, StaysWithinTheRatesThatMakeSense) {
  for (const double rate : {-1.0, 0.0, std::nan(""), -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(Schedule(rate, 0).rate_hz(), kLeastRateHz);
  }
  EXPECT_EQ(Schedule(std::numeric_limits<double>::infinity(), 0).rate_hz(), kMostRateHz);
}

}  // namespace
}  // namespace tools
