#pragma once
// Statistics of one column over the samples of a cell, sample by sample, in constant memory.

#include <cstdint>
#include <optional>

#include "record/value.hpp"
#include "store/gap_table.hpp"
#include "store/rates.hpp"

namespace store {

// The highest and the lowest rate of a counter, as shares of its capacity, 0 to 1.
class RateRange {
 public:
  RateRange(const GapTable& gaps, RateRule rule) noexcept : gaps_(gaps), intervals_(rule) {}

  // `capacity`: what the counter may gain in a nanosecond.
  void add(std::int64_t time_ns, record::Value value, double capacity) {
    count(intervals_.add(row_step(gaps_, last_ns_, time_ns), value, capacity));
    last_ns_ = time_ns;
  }
  void finish() { count(intervals_.finish()); }

  [[nodiscard]] std::optional<double> max() const noexcept { return max_; }
  [[nodiscard]] std::optional<double> min() const noexcept { return min_; }

 private:
  void count(const std::optional<RateInterval>& interval);

  const GapTable& gaps_;
  RateIntervals intervals_;
  std::int64_t last_ns_ = 0;
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

// The same of real numbers (record/real.hpp): nullopt where there is none.
class RealSeries {
 public:
  explicit RealSeries(const GapTable& gaps) noexcept : gaps_(gaps) {}

  void add(std::int64_t time_ns, std::optional<double> number);

  [[nodiscard]] std::optional<double> mean() const noexcept;
  [[nodiscard]] std::optional<double> max() const noexcept { return max_; }
  [[nodiscard]] std::optional<double> min() const noexcept { return min_; }
  // What a counter rose; where it fell it began anew, and what it had gained before stays.
  [[nodiscard]] double gain() const noexcept { return gain_; }
  [[nodiscard]] std::optional<double> last() const noexcept { return known_; }
  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }  // with a number

 private:
  const GapTable& gaps_;
  std::int64_t last_time_ns_ = 0;
  std::optional<double> last_, known_;
  double weighted_ = 0;
  double weight_ns_ = 0;
  double sum_ = 0;  // for samples that no time lies between
  double gain_ = 0;
  std::int64_t samples_ = 0;
  std::optional<double> max_, min_;
};

}  // namespace store
