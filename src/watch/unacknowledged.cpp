#include "watch/unacknowledged.hpp"

#include <algorithm>

namespace watch {
namespace {

constexpr std::size_t kMostSourceBytes = 64U << 20;

bool is_end_of(const record::Message& mark, std::int64_t index) noexcept {
  const auto* end = std::get_if<record::CellEnd>(&mark);
  return end != nullptr && end->index == index;
}

bool is_acknowledged_by(const record::Message& mark, const record::Ack& ack) noexcept {
  if (ack.end) return is_end_of(mark, ack.index);
  const auto* begin = std::get_if<record::CellBegin>(&mark);
  return begin != nullptr && begin->index == ack.index;
}

}  // namespace

void Unacknowledged::add(record::Message mark) {
  if (const auto* begin = std::get_if<record::CellBegin>(&mark)) {
    source_bytes_ += begin->source.size();
  }
  marks_.push_back({std::move(mark), false});
  for (auto one = marks_.begin(); source_bytes_ > kMostSourceBytes && one != marks_.end(); ++one) {
    if (auto* begin = std::get_if<record::CellBegin>(&one->message)) {
      source_bytes_ -= begin->source.size();
      begin->source.clear();
    }
  }
}

bool Unacknowledged::send(const Send& send) {
  for (Mark& one : marks_) {
    if (one.sent) continue;
    switch (send(one.message)) {
      case base::SendResult::kSent:
        one.sent = true;
        break;
      case base::SendResult::kFull:
        return false;
      case base::SendResult::kClosed:
        return true;  // there is nobody to try it with again
    }
  }
  return true;
}

void Unacknowledged::forget_sent() noexcept {
  for (Mark& one : marks_) one.sent = false;
}

bool Unacknowledged::acknowledge(const record::Ack& ack) {
  const auto known = [&](const Mark& one) { return is_acknowledged_by(one.message, ack); };
  if (std::ranges::none_of(marks_, known)) return false;
  for (bool found = false; !found; marks_.pop_front()) {
    found = known(marks_.front());
    if (const auto* begin = std::get_if<record::CellBegin>(&marks_.front().message)) {
      source_bytes_ -= begin->source.size();
    }
  }
  return true;
}

bool Unacknowledged::has_unsent() const noexcept {
  return std::ranges::any_of(marks_, [](const Mark& one) { return !one.sent; });
}

bool Unacknowledged::has_end_of(std::int64_t index) const noexcept {
  return std::ranges::any_of(marks_,
                             [&](const Mark& one) { return is_end_of(one.message, index); });
}

std::vector<record::Group> Unacknowledged::groups() const {
  std::vector<record::Group> groups;
  for (const Mark& one : marks_) {
    if (const auto* group = std::get_if<record::Group>(&one.message)) groups.push_back(*group);
  }
  return groups;
}

std::vector<PendingCell> Unacknowledged::cells() const {
  std::vector<PendingCell> cells;
  for (const Mark& one : marks_) {
    if (const auto* begin = std::get_if<record::CellBegin>(&one.message)) {
      cells.push_back({*begin, std::nullopt});
    } else if (const auto* end = std::get_if<record::CellEnd>(&one.message)) {
      const auto same = [&](const PendingCell& cell) { return cell.begin.index == end->index; };
      auto cell = std::ranges::find_if(cells, same);
      if (cell == cells.end()) {
        cell = cells.insert(cells.end(), PendingCell{});  // its begin is in the recording
        cell->begin.index = end->index;
      }
      cell->end = *end;
    }
  }
  return cells;
}

}  // namespace watch
