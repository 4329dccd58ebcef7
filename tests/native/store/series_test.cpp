#include "store/series.hpp"

#include <gtest/gtest.h>

#include "store/gap_table.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

class Series : public ::testing::Test {
 protected:
  Series() {
    recorder_.add(record::Settings{10 * kSecond, 1.0, {}});
    recorder_.add(gap(3 * kSecond, 4 * kSecond));
    recorder_.add(gap(3500 * kMs, 5 * kSecond));
    recorder_.add(gap(8 * kSecond, 9 * kSecond));
  }
  [[nodiscard]] GapTable gaps() const { return {recorder_.open(), 0, 100 * kSecond}; }

 private:
  Recorder recorder_;  // 10 Hz at first
};

TEST_F(Series, KnowsThePeriodInForce) {
  const GapTable table = gaps();
  EXPECT_EQ(table.period_ns(0), 100 * kMs);
  EXPECT_EQ(table.period_ns(9 * kSecond), 100 * kMs);
  EXPECT_EQ(table.period_ns(10 * kSecond), kSecond);
}

TEST_F(Series, FindsGapsAndHolesBetweenSamples) {
  const GapTable table = gaps();
  EXPECT_FALSE(table.between(2900 * kMs, 3 * kSecond));
  EXPECT_TRUE(table.between(2900 * kMs, 3001 * kMs));
  EXPECT_TRUE(table.between(4900 * kMs, 5100 * kMs));
  EXPECT_FALSE(table.between(5 * kSecond, 5100 * kMs));
  EXPECT_FALSE(table.between(5 * kSecond, 5500 * kMs));  // more than three periods, but short
  EXPECT_TRUE(table.between(5 * kSecond, 5501 * kMs));
  EXPECT_FALSE(table.between(10 * kSecond, 13 * kSecond));  // three periods of 1 Hz
  EXPECT_TRUE(table.between(10 * kSecond, 13'004 * kMs));
}

TEST_F(Series, MergesShortIntervalsAndGivesTheRestToTheLast) {
  const GapTable table = gaps();
  RateRange range(table, RateRule{50 * kMs, 0});
  range.add(0, 0, 1);
  range.add(kMs, kMs, 1);             // 100 % for 1 ms: jitter
  range.add(100 * kMs, 51 * kMs, 1);  // 51 % of 100 ms
  range.add(200 * kMs, 71 * kMs, 1);  // 20 %, with the rest of 20 ms: 40 of 120
  range.add(220 * kMs, 91 * kMs, 1);
  range.finish();
  EXPECT_DOUBLE_EQ(*range.max(), 0.51);
  EXPECT_DOUBLE_EQ(*range.min(), 40.0 / 120);
}

TEST_F(Series, TellsNothingOfOneShortInterval) {
  const GapTable table = gaps();
  RateRange range(table, RateRule{50 * kMs, 0});
  range.add(0, 0, 1);
  range.add(49 * kMs, 49 * kMs, 1);
  range.finish();
  EXPECT_FALSE(range.max());
}

TEST_F(Series, LeavesOutUnknownValuesAndFalls) {
  const GapTable table = gaps();
  RateRange range(table, RateRule{50 * kMs, 5});
  range.add(0, 0, 1);
  range.add(100 * kMs, record::unknown(record::State::kVanished), 1);
  range.add(200 * kMs, 90 * kMs, 1);
  range.add(300 * kMs, 100 * kMs, 1);     // 10 %
  range.add(400 * kMs, 20 * kMs, 1);      // fell
  range.add(500 * kMs, 50 * kMs, 1);      // 30 %
  range.add(600 * kMs, 50 * kMs - 5, 1);  // rounding
  range.finish();
  EXPECT_DOUBLE_EQ(*range.max(), 0.3);
  EXPECT_DOUBLE_EQ(*range.min(), 0.0);
}

TEST_F(Series, NeverWeighsTheTimeOfAGap) {
  const GapTable table = gaps();
  GaugeSeries series(table);
  series.add(2900 * kMs, 10);
  series.add(3000 * kMs, 10);
  series.add(5000 * kMs, 1000);
  series.add(5100 * kMs, 1000);
  EXPECT_DOUBLE_EQ(*series.mean(), 505.0);
  EXPECT_EQ(series.max(), 1000);
  EXPECT_EQ(series.min(), 10);
}

TEST_F(Series, OfOneSampleIsThatSample) {
  const GapTable table = gaps();
  GaugeSeries series(table);
  EXPECT_FALSE(series.mean());
  series.add(1, 42);
  EXPECT_DOUBLE_EQ(*series.mean(), 42.0);
}

}  // namespace
}  // namespace store
