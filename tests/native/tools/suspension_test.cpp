#include "tools/suspension.hpp"

#include <gtest/gtest.h>

namespace tools {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Fault: S9
TEST(Suspension, IsAGapBetweenTheSamplesAroundIt) {
  Suspension suspension;
  EXPECT_FALSE(suspension.note(100 * kSecond, 500 * kSecond));
  EXPECT_FALSE(suspension.note(101 * kSecond, 501 * kSecond));
  const auto gap = suspension.note(102 * kSecond, 502 * kSecond + 7200 * kSecond);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->begin_ns, 101 * kSecond);
  EXPECT_EQ(gap->end_ns, 102 * kSecond);
  EXPECT_EQ(gap->reason, record::GapReason::kClockJump);
  EXPECT_EQ(gap->text, "the machine was suspended for 7200.0 s");
  EXPECT_FALSE(suspension.note(103 * kSecond, 503 * kSecond + 7200 * kSecond));
}

TEST(Suspension, IsNoneWhenOnlyTheReadingTookLong) {
  Suspension suspension;
  std::int64_t boot_ns = 0;
  for (std::int64_t i = 1; i < 100; ++i) {
    boot_ns = i * kSecond + (i % 2) * 50'000'000;
    EXPECT_FALSE(suspension.note(i * kSecond, boot_ns)) << i;
  }
}

TEST(Suspension, IsNoneWhereTheClockIsMissing) {
  Suspension suspension;
  EXPECT_FALSE(suspension.note(kSecond, -1));
  EXPECT_FALSE(suspension.note(2 * kSecond, -1));
}

}  // namespace
}  // namespace tools
