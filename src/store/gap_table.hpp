#pragma once
// Between which samples of a cell nothing may be concluded about the time between them.

#include <cstdint>
#include <utility>
#include <vector>

#include "store/recording.hpp"

namespace store {

// The sampling period in force at a time, from the recording's settings; 100 ms where unknown.
class Periods {
 public:
  explicit Periods(const std::vector<record::Settings>& settings);
  [[nodiscard]] std::int64_t at(std::int64_t time_ns) const noexcept;

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> since_;  // time, period; ascending
};

class GapTable {
 public:
  // Only gaps that overlap begin_ns..end_ns are kept.
  GapTable(const Recording& recording, std::int64_t begin_ns, std::int64_t end_ns);

  // True when a recorded gap lies between the two samples, or they are further apart than three
  // periods and half a second.
  [[nodiscard]] bool between(std::int64_t earlier_ns, std::int64_t later_ns) const noexcept;
  [[nodiscard]] std::int64_t period_ns(std::int64_t time_ns) const noexcept {
    return periods_.at(time_ns);
  }

 private:
  Periods periods_;
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps_;  // merged, ascending
};

}  // namespace store
