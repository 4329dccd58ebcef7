#include "tools/budget.hpp"

#include <gtest/gtest.h>

namespace tools {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMs;

class BudgetTest : public testing::Test {
 protected:
  // That many ticks at the rate in force; the number of changes.
  int tick(int count, std::int64_t cost_ns) {
    int changes = 0;
    for (int i = 0; i < count; ++i) {
      now_ns_ += static_cast<std::int64_t>(1e9 / budget_.rate_hz(wished_hz_));
      changes += budget_.note(cost_ns, wished_hz_, now_ns_) ? 1 : 0;
    }
    return changes;
  }

  Budget budget_;
  double wished_hz_ = 10;
  std::int64_t now_ns_ = 0;
};

TEST_F(BudgetTest, LeavesACheapTickAlone) {
  EXPECT_EQ(tick(10'000, kMs / 5), 0);
  EXPECT_FALSE(budget_.lean());
  EXPECT_EQ(budget_.rate_hz(10), 10);
}

// Fault: P7
TEST_F(BudgetTest, LowersDetailFirstThenTheRate) {
  EXPECT_EQ(tick(Budget::kTicksToJudge, 30 * kMs), 1);
  EXPECT_TRUE(budget_.lean());
  EXPECT_EQ(budget_.rate_hz(10), 10);
  tick(Budget::kTicksToJudge, 30 * kMs);
  EXPECT_EQ(budget_.rate_hz(10), 5);
  tick(1000, 30 * kMs);
  EXPECT_EQ(budget_.rate_hz(10), 2.5);  // 75 ms a second: within the budget
}

TEST_F(BudgetTest, AllowsMoreToWhomAsksForMore) {
  wished_hz_ = 1000;
  EXPECT_EQ(tick(10'000, kMs / 4), 0);  // a quarter of a core
  tick(1000, kMs);
  EXPECT_TRUE(budget_.lean());
  EXPECT_EQ(budget_.rate_hz(1000), 500);
}

TEST_F(BudgetTest, NeverGoesBelowOneTickASecond) {
  tick(1000, 900 * kMs);
  EXPECT_EQ(budget_.rate_hz(10), 1.25);
  wished_hz_ = 0.5;
  budget_.forget_rate();
  tick(1000, 900 * kMs);
  EXPECT_EQ(budget_.rate_hz(0.5), 0.5);
}

TEST_F(BudgetTest, OneExpensiveTickChangesNothing) {
  tick(100, kMs / 5);
  EXPECT_EQ(tick(1, 50 * kMs), 0);
  EXPECT_EQ(tick(100, kMs / 5), 0);
}

TEST_F(BudgetTest, GivesBackTheRateThenTheDetail) {
  tick(1000, 30 * kMs);
  ASSERT_EQ(budget_.rate_hz(10), 2.5);
  tick(2 * Budget::kTicksToJudge + 50, kMs / 5);
  EXPECT_EQ(budget_.rate_hz(10), 10);
  EXPECT_TRUE(budget_.lean());
  tick(static_cast<int>(Budget::kRetryNs / kSecond) * 10, kMs / 5);
  EXPECT_FALSE(budget_.lean());
}

}  // namespace
}  // namespace tools
