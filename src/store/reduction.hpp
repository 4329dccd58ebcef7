#pragma once
// A column of values made small enough to draw: a pyramid over all of them, built once, from which
// any part of the time is reduced at once.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace store {

// What lies in one bucket; not a number where nothing known does: a gap, never a minimum.
struct Reduced {
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  double first = std::numeric_limits<double>::quiet_NaN();
  double last = std::numeric_limits<double>::quiet_NaN();
  double mean = std::numeric_limits<double>::quiet_NaN();  // weighted by time
};

class Reduction {
 public:
  // `times_ns` ascending, a value for each (not a number: unknown); both stay the caller's and
  // outlive this. In a mean a value counts for the time until the next one; for a nanosecond where
  // that is longer than `longest_ns`, where it is 0, and at the end. Reads all once (10 million: 10
  // to 20 ms by two threads) and takes a sixteenth of their memory.
  Reduction(std::span<const std::int64_t> times_ns, std::span<const double> values,
            std::int64_t longest_ns = std::numeric_limits<std::int64_t>::max());

  // begin_ns..end_ns in so many equal buckets; a bucket holds the values from its begin to before
  // its end, the last one those at its end, too. A thousand buckets take less than a millisecond.
  [[nodiscard]] std::vector<Reduced> reduce(std::int64_t begin_ns, std::int64_t end_ns,
                                            std::size_t buckets) const;

 private:
  struct Sum {
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    double weighted = 0;
    double weight_ns = 0;
    void add(const Sum& other) noexcept;
  };
  static constexpr std::size_t kBlock = 32;   // values of a block of the lowest level
  static constexpr std::size_t kFactor = 16;  // blocks in one of the next level

  void sum_up(std::size_t first_block, std::size_t end_block) noexcept;
  [[nodiscard]] double weight_of(std::size_t i) const noexcept;
  [[nodiscard]] Sum sum_of_values(std::size_t begin, std::size_t end) const noexcept;
  [[nodiscard]] Sum sum_of_block(std::size_t begin) const noexcept;
  [[nodiscard]] Sum sum_of(std::size_t begin, std::size_t end) const noexcept;
  [[nodiscard]] std::size_t place_of(std::int64_t time_ns) const noexcept;
  [[nodiscard]] Reduced reduced(std::size_t begin, std::size_t end) const noexcept;

  std::span<const std::int64_t> times_ns_;
  std::span<const double> values_;
  std::int64_t longest_ns_;
  std::vector<std::vector<Sum>> levels_;      // of kBlock values, of kFactor times as many, …
  std::vector<std::int64_t> block_begin_ns_;  // of the lowest level
};

}  // namespace store
