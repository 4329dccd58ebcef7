#pragma once
// What the samples of a cell say about one level, taken in one by one.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/cell_span.hpp"
#include "store/counters.hpp"
#include "store/frame.hpp"
#include "store/gap_table.hpp"
#include "store/series.hpp"

namespace store {

class LevelTrack {
 public:
  // `cores`: the capacity where no sample has it; 0: unknown.
  LevelTrack(std::string_view name, const CellSpan& span, const GapTable& gaps, double cores);

  // The last frame before those of the cell; only the counters' judges look at it.
  void add_before(const Frame& frame) { before_begin_ = before_end_ = frame; }
  // Frames in order of time.
  void add(const Frame& frame);
  void finish() { cpu_.finish(); }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_process() const noexcept { return name_ == "process"; }
  [[nodiscard]] bool seen() const noexcept { return seen_; }
  // A sample of the cell knows anything of it but its capacity.
  [[nodiscard]] bool any_known() const noexcept { return any_known_; }
  // The frames at the edges; nullptr where there is none.
  [[nodiscard]] const Frame* begin() const noexcept { return begin_ ? &*begin_ : nullptr; }
  [[nodiscard]] const Frame* end() const noexcept { return end_ ? &*end_ : nullptr; }
  // The last frames before the marks of the edges.
  [[nodiscard]] const Frame* before_begin() const noexcept {
    return before_begin_ ? &*before_begin_ : nullptr;
  }
  [[nodiscard]] const Frame* before_end() const noexcept {
    return before_end_ ? &*before_end_ : nullptr;
  }
  [[nodiscard]] std::int64_t fallen(Counter counter) const noexcept { return fallen_[counter]; }
  [[nodiscard]] const RateRange& cpu() const noexcept { return cpu_; }
  // Of the samples whose sharing was measured; of all when there is none (memory_upper_bound()).
  [[nodiscard]] const GaugeSeries& memory() const noexcept {
    return measured_memory_.max() ? measured_memory_ : memory_;
  }
  [[nodiscard]] bool memory_upper_bound() const noexcept {
    return memory_upper_bound_ && !measured_memory_.max();
  }
  // By how much the resident size of the root process alone exceeds its proportional one (libraries
  // that others use too), from the newest sample that tells; 0 when none does.
  [[nodiscard]] std::int64_t sharing_bytes() const noexcept { return sharing_bytes_; }
  [[nodiscard]] const GaugeSeries& processes() const noexcept { return processes_; }
  [[nodiscard]] const GaugeSeries& threads() const noexcept { return threads_; }
  // In the mean over the cell; 0: unknown.
  [[nodiscard]] double mean_cores() const noexcept;
  [[nodiscard]] record::Value capacity_memory() const noexcept { return capacity_memory_; }
  // The newest value, known or not, with the state of the newest one if none was ever known.
  [[nodiscard]] record::Value last_total(Counter counter) const noexcept {
    return last_.total[counter];
  }

 private:
  void add_memory(const Frame& frame);
  // By how much a counter may fall and still be right.
  [[nodiscard]] std::int64_t slack_of(Counter counter) const noexcept;

  std::string name_;
  const CellSpan& span_;
  double cores_;
  bool seen_ = false;
  bool any_known_ = false;
  std::optional<Frame> begin_, end_, before_begin_, before_end_;
  Frame last_;  // the newest known totals
  std::array<std::int64_t, kCounters> fallen_{};
  RateRange cpu_;
  GaugeSeries memory_, measured_memory_, processes_, threads_, millicores_;
  bool memory_upper_bound_ = false;
  std::int64_t sharing_bytes_ = 0;
  record::Value capacity_memory_ = record::unknown(record::State::kNotYet);
};

}  // namespace store
