#include "store/rates.hpp"

#include <gtest/gtest.h>

#include "store/gap_table.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

class Rates : public ::testing::Test {
 protected:
  Rates() : recording_(recorder_.open()), gaps_(recording_, 0, 100 * kSecond) {}
  [[nodiscard]] RateIntervals intervals(RateRule rule = {50 * kMs, 0}) const {
    return {gaps_, rule};
  }

 private:
  Recorder recorder_;  // 10 Hz
  Recording recording_;
  GapTable gaps_;
};

TEST_F(Rates, AnIntervalComesWhenNothingCanChangeItAnyMore) {
  RateIntervals rates = intervals();
  EXPECT_FALSE(rates.add(0, 0));
  EXPECT_FALSE(rates.add(100 * kMs, 1000));
  const auto first = rates.add(200 * kMs, 1500);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->begin_ns, 0);
  EXPECT_EQ(first->end_ns, 100 * kMs);
  EXPECT_DOUBLE_EQ(first->per_second(), 10'000);
  EXPECT_FALSE(rates.add(210 * kMs, 2000));  // too short: a part of the one before
  const auto last = rates.finish();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->begin_ns, 100 * kMs);
  EXPECT_EQ(last->end_ns, 210 * kMs);
  EXPECT_DOUBLE_EQ(last->per_second(), 1000 / 0.11);
  EXPECT_FALSE(rates.finish());
}

TEST_F(Rates, NothingIsSaidAcrossWhatIsUnknownAndWhatBeganAnew) {
  RateIntervals rates = intervals();
  rates.add(0, 0);
  EXPECT_FALSE(rates.add(100 * kMs, record::unknown(record::State::kNotYet)));
  EXPECT_FALSE(rates.add(200 * kMs, 500));
  EXPECT_FALSE(rates.add(300 * kMs, 100));
  EXPECT_FALSE(rates.add(400 * kMs, 200));
  const auto only = rates.finish();
  ASSERT_TRUE(only);
  EXPECT_EQ(only->begin_ns, 300 * kMs);
  EXPECT_EQ(only->end_ns, 400 * kMs);
}

TEST_F(Rates, RoundingIsNoNegativeRate) {
  RateIntervals rates = intervals({50 * kMs, 25});
  rates.add(0, 100);
  rates.add(100 * kMs, 80);
  const auto only = rates.finish();
  ASSERT_TRUE(only);
  EXPECT_EQ(only->gained, -20);
  EXPECT_EQ(only->per_second(), 0);
  EXPECT_EQ(only->share(), 0);
}

TEST_F(Rates, AShareIsOneAtMost) {
  RateIntervals rates = intervals();
  rates.add(0, 0, 2);
  rates.add(100 * kMs, 300 * kMs, 2);
  EXPECT_EQ(rates.finish()->share(), 1);
}

TEST(RateRule, WhatIsReadOnceASecondNeedsTwo) {
  EXPECT_EQ(rate_rule("process", "cpu_time_ns").least_ns, 50 * kMs);
  EXPECT_EQ(rate_rule("process", "page_faults").least_ns, 50 * kMs);
  EXPECT_EQ(rate_rule("node", "core3.cpu_time_ns").least_ns, 100 * kMs);
  EXPECT_EQ(rate_rule("user", "cpu_time_ns").least_ns, 2 * kSecond);
  EXPECT_EQ(rate_rule("node", "net_receive_bytes").least_ns, 2 * kSecond);
  EXPECT_EQ(rate_rule("job", "pressure_io_some_ns").least_ns, 2 * kSecond);
  EXPECT_EQ(rate_rule("node", "gpu0.energy_millijoules").least_ns, 2 * kSecond);
}

TEST(RateRule, OnlyATreesProcessorTimeMayFallByRounding) {
  EXPECT_EQ(rate_rule("process", "cpu_time_ns").rounding, 25 * kMs);
  EXPECT_EQ(rate_rule("process", "io_read_bytes").rounding, 0);
  EXPECT_EQ(rate_rule("node", "cpu_time_ns").rounding, 0);
}

}  // namespace
}  // namespace store
