#pragma once
// How fast a counter rises between samples, by the one rule that summaries, plots and tables share:
// what a summary calls the highest rate of a cell is the highest one that the others show.

#include <cstdint>
#include <optional>
#include <string_view>

#include "record/value.hpp"
#include "store/gap_table.hpp"

namespace store {

// What all columns of a row share.
struct RowStep {
  std::int64_t time_ns = 0;
  bool after_gap = false;      // nothing may be concluded about the time since the row before
  std::int64_t period_ns = 0;  // between two samples, from this row on
};
// `last_ns`: the row before; 0: there is none.
RowStep row_step(const GapTable& gaps, std::int64_t last_ns, std::int64_t time_ns) noexcept;

// What a counter gained between two samples that tell a rate.
struct RateInterval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;     // later
  std::int64_t gained = 0;     // below 0 by rounding only
  double capacity_per_ns = 1;  // what it may have gained in a nanosecond

  [[nodiscard]] double share() const noexcept;       // of the capacity, 0 to 1
  [[nodiscard]] double per_second() const noexcept;  // from 0 on
};

struct RateRule {
  std::int64_t least_ns = 0;  // of an interval: a shorter one is mostly jitter
  std::int64_t rounding = 0;  // by how much the counter may fall and still be right
  // It is read more seldom than rows are taken: an interval ends where the value has changed, or
  // after that time; 0: every row has a new value.
  std::int64_t unchanged_ns = 0;
};
// Of a column "<level>.<metric>".
RateRule rate_rule(std::string_view level, std::string_view metric) noexcept;

// Of a custom monitor's counter: it has a pace of its own.
inline constexpr RateRule kRealRateRule{100'000'000, 0, 2'500'000'000};
// Such a counter in whole steps, as intervals take it; what is beyond 9e15 is unknown.
inline constexpr double kRealStep = 1e-3;
record::Value real_steps(record::Value value) noexcept;

// Merges samples to intervals of at least the rule's length and half a period; what is left at the
// end belongs to the last interval. An interval that would hold a gap, an unknown value or a
// counter that fell isn't there at all. In constant memory.
class RateIntervals {
 public:
  explicit RateIntervals(RateRule rule) noexcept : rule_(rule) {}

  // Samples in order of time, from the one at the begin of what is asked to the one at its end.
  // Gives the interval before the newest one, which what follows can't change any more.
  std::optional<RateInterval> add(const RowStep& step, record::Value value,
                                  double capacity_per_ns = 1);
  // After the last sample: gives the last interval. Then it begins anew.
  std::optional<RateInterval> finish();

 private:
  struct Point {
    std::int64_t time_ns = 0;
    record::Value value = 0;
    double capacity_per_ns = 0;
    std::int64_t period_ns = 0;
  };
  static RateInterval between(const Point& begin, const Point& end) noexcept;

  RateRule rule_;
  std::optional<Point> begin_;  // of the interval that grows
  std::optional<Point> last_;
  std::optional<Point> from_, to_;  // the last complete one, which may take what is left
};

}  // namespace store
