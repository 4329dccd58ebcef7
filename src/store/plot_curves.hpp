#pragma once
// Feeds the rows of a recording to the curves of a plot: each row once, in order of time.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/rows.hpp"
#include "store/gap_table.hpp"
#include "store/plot_buckets.hpp"
#include "store/plot_plan.hpp"
#include "store/plot_time.hpp"
#include "store/rates.hpp"

namespace store {

// A counter's, or a gauge's, curve.
class PlotCurve {
 public:
  PlotCurve(const PlotColumn& column, std::size_t buckets)
      : column_(&column), intervals_(column.rule), buckets_(buckets) {}

  void begin(const PlotSegment& segment) noexcept;
  // `capacity`: of the level, for its CPU time; `bound`: the value is an upper bound.
  void add(const PlotTime& time, const PlotSegment& segment, const RowStep& step,
           record::Value value, double capacity, bool bound);
  void finish(const PlotTime& time, const PlotSegment& segment);

  [[nodiscard]] const PlotColumn& column() const noexcept { return *column_; }
  [[nodiscard]] PlotBuckets& buckets() noexcept { return buckets_; }

 private:
  void count(const PlotTime& time, const PlotSegment& segment,
             const std::optional<RateInterval>& interval);
  struct Held {
    std::int64_t time_ns = 0;
    std::optional<double> value;
  };
  static void hold(Held& held, PlotBuckets& buckets, const PlotTime& time,
                   const PlotSegment& segment, std::int64_t time_ns, bool after_gap,
                   std::optional<double> value);

  const PlotColumn* column_;
  RateIntervals intervals_;
  PlotBuckets buckets_;
  Held held_;
  // Of memory: all values, with those that are upper bounds.
  std::optional<PlotBuckets> all_;
  Held all_held_;
  bool measured_ = false;
};

// Many counters alike, of which only the mean rate in each bucket is wanted.
class PlotCores {
 public:
  // `seldom`: only the first row of each chunk has their values.
  PlotCores(std::size_t cores, std::size_t buckets, bool seldom)
      : cores_(cores),
        seldom_(seldom),
        last_(cores, -1),
        gained_(cores * buckets),
        known_ns_(cores * buckets) {}

  // `columns`: where each core's stands in the rows.
  void add(const PlotTime& time, const RowStep& step, const record::Rows& rows, std::size_t row,
           const std::vector<std::optional<std::size_t>>& columns);
  [[nodiscard]] double rate(std::size_t core, std::size_t bucket) const noexcept;  // gain in a ns

 private:
  std::size_t cores_;
  bool seldom_;
  bool after_gap_ = false;  // since the last row that counted
  std::vector<record::Value> last_;
  std::vector<double> gained_, known_ns_;  // of every core, bucket after bucket
  std::vector<double> step_gained_, step_known_;
  std::int64_t last_ns_ = 0;
  std::size_t at_ = 0;  // the bucket of the last row
};

// Fills the tracks of plan.metrics; leaves out tracks, panels and metrics without any value.
void fill_plot(const Recording& recording, const PlotTime& time, PlotPlan& plan);

}  // namespace store
