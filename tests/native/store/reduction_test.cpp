#include "store/reduction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace store {
namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

struct Column {
  std::vector<std::int64_t> times_ns;
  std::vector<double> values;
};

// What a bucket is by its definition, one value after the other.
Reduced naive(const Column& column, std::int64_t begin_ns, std::int64_t end_ns, bool last_too,
              std::int64_t longest_ns) {
  Reduced out;
  double weighted = 0;
  double weights = 0;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    const std::int64_t time_ns = column.times_ns[i];
    const bool inside =
        time_ns >= begin_ns && (time_ns < end_ns || (last_too && time_ns == end_ns));
    if (!inside || std::isnan(column.values[i])) continue;
    const double value = column.values[i];
    if (std::isnan(out.first)) out.first = value;
    out.last = value;
    out.min = std::fmin(out.min, value);
    out.max = std::fmax(out.max, value);
    double weight = 1;
    if (i + 1 < column.values.size()) {
      const std::int64_t length_ns = column.times_ns[i + 1] - time_ns;
      if (length_ns >= 1 && length_ns <= longest_ns) weight = static_cast<double>(length_ns);
    }
    weighted += value * weight;
    weights += weight;
  }
  if (weights > 0) out.mean = weighted / weights;
  return out;
}

bool same(double one, double other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

void expect_naive(const Column& column, std::int64_t begin_ns, std::int64_t end_ns,
                  std::size_t buckets, std::int64_t longest_ns) {
  const Reduction reduction(column.times_ns, column.values, longest_ns);
  const std::vector<Reduced> reduced = reduction.reduce(begin_ns, end_ns, buckets);
  ASSERT_EQ(reduced.size(), buckets);
  const std::int64_t length_ns = end_ns - begin_ns;
  for (std::size_t i = 0; i < buckets; ++i) {
    const auto edge = [&](std::size_t place) {
      return begin_ns +
             length_ns * static_cast<std::int64_t>(place) / static_cast<std::int64_t>(buckets);
    };
    const Reduced expected = naive(column, edge(i), edge(i + 1), i + 1 == buckets, longest_ns);
    EXPECT_TRUE(same(reduced[i].min, expected.min)) << i;
    EXPECT_TRUE(same(reduced[i].max, expected.max)) << i;
    EXPECT_TRUE(same(reduced[i].first, expected.first)) << i;
    EXPECT_TRUE(same(reduced[i].last, expected.last)) << i;
    if (std::isnan(expected.mean)) {
      EXPECT_TRUE(std::isnan(reduced[i].mean)) << i;
    } else {
      EXPECT_NEAR(reduced[i].mean, expected.mean, 1e-9 * (1 + std::abs(expected.mean))) << i;
    }
  }
}

Column made_up(std::size_t count, unsigned seed, double gaps) {
  std::mt19937_64 chance(seed);
  std::uniform_real_distribution<double> share(0, 1);
  Column column;
  std::int64_t time_ns = 1000;
  bool in_gap = false;
  for (std::size_t i = 0; i < count; ++i) {
    time_ns += 1 + static_cast<std::int64_t>(chance() % 200);
    if (share(chance) < 0.002) time_ns += 50'000;
    if (share(chance) < gaps / 20) in_gap = !in_gap;
    column.times_ns.push_back(time_ns);
    column.values.push_back(in_gap || share(chance) < gaps ? kGap : share(chance) * 1000 - 200);
  }
  return column;
}

TEST(Reduction, IsWhatALoopOverAllValuesSays) {
  for (const std::size_t count : {0U, 1U, 2U, 63U, 64U, 65U, 129U, 1024U, 1025U, 5000U}) {
    for (const double gaps : {0.0, 0.05, 1.0}) {
      const Column column = made_up(count, static_cast<unsigned>(count) + 1, gaps);
      const std::int64_t end_ns = count == 0 ? 5000 : column.times_ns.back();
      for (const std::size_t buckets : {1U, 2U, 7U, 600U}) {
        expect_naive(column, 1000, end_ns, buckets, 10'000);
        expect_naive(column, 1000 + end_ns / 3, end_ns / 2 + 1000, buckets, 150);
        expect_naive(column, -500, end_ns + 700, buckets, 1 << 30);
      }
    }
  }
}

TEST(Reduction, KeepsTheOnePeakOfManyValues) {
  Column column;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    column.times_ns.push_back(i * 10);
    column.values.push_back(1);
  }
  column.values[77'777] = 5;
  const Reduction reduction(column.times_ns, column.values);
  const std::vector<Reduced> reduced = reduction.reduce(0, 1'000'000, 600);
  EXPECT_EQ(reduced[77'777 * 600 / 100'000].max, 5);
  EXPECT_EQ(std::ranges::count(reduced, 5.0, &Reduced::max), 1);
}

TEST(Reduction, OfUnknownValuesIsAGapAndNeverAMinimum) {
  Column column = made_up(4000, 3, 0);
  std::fill(column.values.begin() + 1000, column.values.begin() + 3000, kGap);
  const Reduction reduction(column.times_ns, column.values);
  const std::vector<Reduced> reduced =
      reduction.reduce(column.times_ns[1000], column.times_ns[2999], 50);
  for (const Reduced& one : reduced) {
    EXPECT_TRUE(std::isnan(one.min) && std::isnan(one.max) && std::isnan(one.mean));
    EXPECT_TRUE(std::isnan(one.first) && std::isnan(one.last));
  }
}

TEST(Reduction, OfATimeThatEndsBeforeItBeginsIsUnknown) {
  const Column column = made_up(100, 4, 0);
  const Reduction reduction(column.times_ns, column.values);
  EXPECT_TRUE(std::isnan(reduction.reduce(5000, 1000, 3).front().max));
  EXPECT_TRUE(reduction.reduce(1000, 5000, 0).empty());
}

}  // namespace
}  // namespace store
