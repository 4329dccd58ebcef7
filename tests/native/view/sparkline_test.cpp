#include "view/sparkline.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace view {
namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMost = std::numeric_limits<double>::max();

std::string line(const std::vector<double>& values, double bottom, double top) {
  return sparkline(values, bottom, top);
}

TEST(Sparkline, HasABlockForEachEighth) {
  EXPECT_EQ(line({0, 1, 2, 3, 4, 5, 6, 7}, 0, 7), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(line({}, 0, 7), "");
}

TEST(Sparkline, RoundsToTheNearestBlock) {
  EXPECT_EQ(line({100, 106.9, 107.2, 150, 200}, 100, 200), "▁▁▂▅█");
}

TEST(Sparkline, StaysWithinItsRange) {
  EXPECT_EQ(line({-5, 105, kInfinity, -kInfinity}, 0, 100), "▁██▁");
  EXPECT_EQ(line({-kMost, 0, kMost}, -kMost, kMost), "▁▅█");
}

TEST(Sparkline, LeavesAGapWhereNothingIsKnown) {
  EXPECT_EQ(line({kGap, 7, kGap, 0}, 0, 7), " █ ▁");
}

TEST(Sparkline, IsFlatWithoutARange) {
  EXPECT_EQ(line({0, 1, kGap, 2}, 0, 0), "▁▁ ▁");
  EXPECT_EQ(line({1}, 5, 2), "▁");
  EXPECT_EQ(line({1}, 0, kGap), "▁");
}

}  // namespace
}  // namespace view
