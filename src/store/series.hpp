#pragma once
// Statistics of one column over the samples of a cell, sample by sample, in constant memory.

#include <cstdint>
#include <optional>

#include "record/value.hpp"
#include "store/gap_table.hpp"

namespace store {

// The highest and the lowest rate of a counter. Samples are merged to intervals of at least
// `least_ns` (and half a period), since a short one is mostly jitter; what is left at the end
// belongs to the last interval. An interval that holds a gap, an unknown value or a counter that
// fell by more than `rounding` says nothing.
class RateRange {
 public:
  RateRange(const GapTable& gaps, std::int64_t least_ns, std::int64_t rounding) noexcept
      : gaps_(gaps), least_ns_(least_ns), rounding_(rounding) {}

  // `capacity`: what the counter may gain in a nanosecond; the rates are fractions of it, 0 to 1.
  void add(std::int64_t time_ns, record::Value value, double capacity);
  void finish();

  [[nodiscard]] std::optional<double> max() const noexcept { return max_; }
  [[nodiscard]] std::optional<double> min() const noexcept { return min_; }

 private:
  struct Point {
    std::int64_t time_ns = 0;
    record::Value value = 0;
    double capacity = 0;
  };
  struct Interval {
    Point begin, end;
  };
  void count(const Interval& interval);

  const GapTable& gaps_;
  std::int64_t least_ns_;
  std::int64_t rounding_;
  std::optional<Point> begin_;  // of the interval that grows
  std::optional<Point> last_;
  std::optional<Interval> complete_;  // the last one, which may take what is left
  std::optional<double> max_, min_;
};

// Mean (weighted by time), maximum, minimum of a gauge.
class GaugeSeries {
 public:
  // What is taken for true between two samples.
  enum class Between { kLine, kFirst };

  explicit GaugeSeries(const GapTable& gaps, Between between = Between::kLine) noexcept
      : gaps_(gaps), between_(between) {}

  void add(std::int64_t time_ns, record::Value value);

  [[nodiscard]] std::optional<double> mean() const noexcept;
  [[nodiscard]] std::optional<record::Value> max() const noexcept { return max_; }
  [[nodiscard]] std::optional<record::Value> min() const noexcept { return min_; }
  [[nodiscard]] record::Value last() const noexcept { return last_; }

 private:
  const GapTable& gaps_;
  Between between_;
  std::int64_t last_time_ns_ = 0;
  record::Value last_ = record::unknown(record::State::kNotYet);
  double weighted_ = 0;
  double weight_ns_ = 0;
  double sum_ = 0;  // for samples that no time lies between
  double count_ = 0;
  std::optional<record::Value> max_, min_;
};

}  // namespace store
