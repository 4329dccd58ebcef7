#include "tools/row_choice.hpp"

#include <string_view>
#include <utility>

#include "record/value.hpp"

namespace tools {
namespace {

bool is_edge(const record::Sample& row) noexcept { return (row.flags & record::kEdgeSample) != 0; }

}  // namespace

void RowChoice::set_schema(const record::Schema& schema) {
  counters_.clear();
  memories_.clear();
  cpu_time_.reset();
  for (std::size_t column = 0; column < schema.columns.size(); ++column) {
    const std::string_view name = schema.columns[column].name;
    if (schema.columns[column].kind == record::Kind::kCounter) counters_.push_back(column);
    // "<level>.memory_bytes", and no device's.
    if (name.ends_with(".memory_bytes") && name.find('.') == name.rfind('.')) {
      memories_.push_back(column);
    }
    if (name == "process.cpu_time_ns") cpu_time_ = column;
  }
}

void RowChoice::add(record::Sample row, std::vector<record::Sample>& kept) {
  block_.push_back(std::move(row));
  stays_.push_back(std::exchange(stretch_begins_, false));
  if (block_.size() < kBlockRows) return;
  judge(false);
  hand_over(block_.size() - 1, kept);  // the last one's fate hangs on what follows
}

void RowChoice::end(std::vector<record::Sample>& kept) {
  stretch_begins_ = true;
  if (block_.empty()) return;
  judge(true);
  hand_over(block_.size(), kept);
  before_was_edge_ = false;
}

void RowChoice::judge(bool at_end) {
  const std::size_t count = block_.size();
  if (at_end) stays_[count - 1] = true;
  if (before_was_edge_) stays_[0] = true;
  for (std::size_t row = 0; row < count; ++row) {
    if (is_edge(block_[row])) {
      stays_[row] = true;
      if (row > 0) stays_[row - 1] = true;
      if (row + 1 < count) stays_[row + 1] = true;
    }
    if (row > 0 && falls(block_[row - 1], block_[row])) stays_[row - 1] = stays_[row] = true;
    // The last one is counted when it is judged again.
    if ((at_end || row + 1 < count) && seen_++ % one_in_ == 0) stays_[row] = true;
  }
  for (const std::size_t column : memories_) keep_most(column);
  keep_steepest();
}

bool RowChoice::falls(const record::Sample& before, const record::Sample& after) const {
  for (const std::size_t column : counters_) {
    if (column >= before.values.size() || column >= after.values.size()) return true;
    const record::Value was = before.values[column];
    const record::Value is = after.values[column];
    if (record::is_known(was) && record::is_known(is) && is < was) return true;
  }
  return false;
}

void RowChoice::keep_most(std::size_t column) {
  std::optional<std::size_t> most;
  for (std::size_t row = 0; row < block_.size(); ++row) {
    if (column >= block_[row].values.size()) return;
    const record::Value value = block_[row].values[column];
    if (record::is_known(value) && (!most || value > block_[*most].values[column])) most = row;
  }
  if (most) stays_[*most] = true;
}

void RowChoice::keep_steepest() {
  if (!cpu_time_) return;
  std::size_t steepest = 0;
  double most = 0;
  for (std::size_t row = 1; row < block_.size(); ++row) {
    if (*cpu_time_ >= block_[row].values.size() || *cpu_time_ >= block_[row - 1].values.size()) {
      return;
    }
    const record::Value was = block_[row - 1].values[*cpu_time_];
    const record::Value is = block_[row].values[*cpu_time_];
    if (!record::is_known(was) || !record::is_known(is)) continue;
    const double slope = (static_cast<double>(is) - static_cast<double>(was)) /
                         static_cast<double>(block_[row].time_ns - block_[row - 1].time_ns);
    if (slope <= most) continue;
    most = slope;
    steepest = row;
  }
  if (steepest > 0) stays_[steepest - 1] = stays_[steepest] = true;
}

void RowChoice::hand_over(std::size_t count, std::vector<record::Sample>& kept) {
  for (std::size_t row = 0; row < count; ++row) {
    if (stays_[row]) kept.push_back(std::move(block_[row]));
  }
  before_was_edge_ = is_edge(block_[count - 1]);
  block_.erase(block_.begin(), block_.begin() + static_cast<std::ptrdiff_t>(count));
  stays_.erase(stays_.begin(), stays_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace tools
