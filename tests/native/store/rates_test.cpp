#include "store/rates.hpp"

#include <gtest/gtest.h>

#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

constexpr RateRule kRule{50 * kMs, 0, 0};

RowStep at(std::int64_t time_ns, bool after_gap = false) { return {time_ns, after_gap, 100 * kMs}; }

TEST(RateIntervals, AnIntervalComesWhenNothingCanChangeItAnyMore) {
  RateIntervals rates(kRule);
  EXPECT_FALSE(rates.add(at(0), 0));
  EXPECT_FALSE(rates.add(at(100 * kMs), 1000));
  const auto first = rates.add(at(200 * kMs), 1500);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->begin_ns, 0);
  EXPECT_EQ(first->end_ns, 100 * kMs);
  EXPECT_DOUBLE_EQ(first->per_second(), 10'000);
  EXPECT_FALSE(rates.add(at(210 * kMs), 2000));  // too short: a part of the one before
  const auto last = rates.finish();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->begin_ns, 100 * kMs);
  EXPECT_EQ(last->end_ns, 210 * kMs);
  EXPECT_DOUBLE_EQ(last->per_second(), 1000 / 0.11);
  EXPECT_FALSE(rates.finish());
}

TEST(RateIntervals, NothingIsSaidAcrossWhatIsUnknownAndWhatBeganAnew) {
  RateIntervals rates(kRule);
  rates.add(at(0), 0);
  EXPECT_FALSE(rates.add(at(100 * kMs), record::unknown(record::State::kNotYet)));
  EXPECT_FALSE(rates.add(at(200 * kMs), 500));
  EXPECT_FALSE(rates.add(at(300 * kMs), 100));
  EXPECT_FALSE(rates.add(at(400 * kMs), 200));
  const auto only = rates.finish();
  ASSERT_TRUE(only);
  EXPECT_EQ(only->begin_ns, 300 * kMs);
  EXPECT_EQ(only->end_ns, 400 * kMs);
}

TEST(RateIntervals, RoundingIsNoNegativeRate) {
  RateIntervals rates({50 * kMs, 25, 0});
  rates.add(at(0), 100);
  rates.add(at(100 * kMs), 80);
  const auto only = rates.finish();
  ASSERT_TRUE(only);
  EXPECT_EQ(only->gained, -20);
  EXPECT_EQ(only->per_second(), 0);
  EXPECT_EQ(only->share(), 0);
}

TEST(RateIntervals, AShareIsOneAtMost) {
  RateIntervals rates(kRule);
  rates.add(at(0), 0, 2);
  rates.add(at(100 * kMs), 300 * kMs, 2);
  EXPECT_EQ(rates.finish()->share(), 1);
}

TEST(RateIntervals, NothingIsSaidAcrossAGap) {
  RateIntervals rates(kRule);
  rates.add(at(0), 0);
  EXPECT_FALSE(rates.add(at(100 * kMs, true), 500));
  EXPECT_FALSE(rates.add(at(200 * kMs), 600));
  const auto only = rates.finish();
  ASSERT_TRUE(only);
  EXPECT_EQ(only->begin_ns, 100 * kMs);
}

TEST(RateIntervals, WhatIsReadSeldomEndsWithANewValue) {
  RateIntervals rates({900 * kMs, 0, 2500 * kMs});
  rates.add(at(0), 10);
  for (std::int64_t ms = 100; ms < 1100; ms += 100) EXPECT_FALSE(rates.add(at(ms * kMs), 10));
  EXPECT_FALSE(rates.add(at(1100 * kMs), 21));
  const auto only = rates.finish();
  ASSERT_TRUE(only);
  EXPECT_EQ(only->end_ns, 1100 * kMs);
  EXPECT_DOUBLE_EQ(only->per_second(), 10);
}

TEST(RateIntervals, WhatDoesNotChangeHasARateOfZero) {
  RateIntervals rates({900 * kMs, 0, 2500 * kMs});
  for (std::int64_t ms = 0; ms <= 2500; ms += 100) rates.add(at(ms * kMs), 10);
  const auto only = rates.finish();
  ASSERT_TRUE(only);
  EXPECT_EQ(only->per_second(), 0);
}

TEST(RateRule, WhatIsReadOnceASecondWaitsForANewValue) {
  EXPECT_EQ(rate_rule("process", "cpu_time_ns").least_ns, 50 * kMs);
  EXPECT_EQ(rate_rule("process", "page_faults").least_ns, 50 * kMs);
  EXPECT_EQ(rate_rule("node", "core3.cpu_time_ns").least_ns, 100 * kMs);
  EXPECT_EQ(rate_rule("user", "cpu_time_ns").least_ns, 2 * kSecond);
  EXPECT_EQ(rate_rule("node", "net_receive_bytes").unchanged_ns, 2500 * kMs);
  EXPECT_EQ(rate_rule("job", "pressure_io_some_ns").unchanged_ns, 2500 * kMs);
  EXPECT_EQ(rate_rule("node", "gpu0.energy_millijoules").unchanged_ns, 2500 * kMs);
}

TEST(RateRule, OnlyATreesProcessorTimeMayFallByRounding) {
  EXPECT_EQ(rate_rule("process", "cpu_time_ns").rounding, 25 * kMs);
  EXPECT_EQ(rate_rule("process", "io_read_bytes").rounding, 0);
  EXPECT_EQ(rate_rule("node", "cpu_time_ns").rounding, 0);
}

}  // namespace
}  // namespace store
