#pragma once
// Which rows of a recording stay when it is thinned: see thinning.hpp. Fed row by row, it holds
// back some (kBlockRows at most) until it knows what follows them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "record/records.hpp"

namespace tools {

class RowChoice {
 public:
  static constexpr std::size_t kBlockRows = 64;

  // Of the others one in so many stays.
  explicit RowChoice(std::int64_t one_in) noexcept : one_in_(one_in) {}

  // What the columns of the rows that follow mean; end() must have been called.
  void set_schema(const record::Schema& schema);

  // The rows that stay are appended to `kept`, in order.
  void add(record::Sample row, std::vector<record::Sample>& kept);
  // The stretch of rows is over: a record follows, or nothing.
  void end(std::vector<record::Sample>& kept);

 private:
  void judge(bool at_end);
  void keep_most(std::size_t column);
  void keep_steepest();
  [[nodiscard]] bool falls(const record::Sample& before, const record::Sample& after) const;
  void hand_over(std::size_t count, std::vector<record::Sample>& kept);

  const std::int64_t one_in_;
  std::vector<std::size_t> counters_;
  std::vector<std::size_t> memories_;
  std::optional<std::size_t> cpu_time_;
  std::vector<record::Sample> block_;
  std::vector<bool> stays_;  // of block_
  bool before_was_edge_ = false;
  bool stretch_begins_ = true;
  std::int64_t seen_ = 0;
};

}  // namespace tools
