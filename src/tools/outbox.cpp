#include "tools/outbox.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace tools {
namespace {

constexpr std::size_t kQueueBytes = 512U << 10;
constexpr std::size_t kMostWaitingBytes = 2U << 20;  // of rows beyond the queue

std::size_t queue_slots(std::size_t columns) {
  return std::clamp<std::size_t>(kQueueBytes / ((columns + 16) * sizeof(record::Value)), 32, 1024);
}

}  // namespace

Outbox::Outbox(std::size_t most_columns) : queue_(queue_slots(most_columns), most_columns) {}

void Outbox::push(record::Record record, std::optional<record::Ack> ack) {
  waiting_.push_back({std::move(record), ack});
  push_waiting();
}

bool Outbox::has_room(std::size_t columns, std::int64_t now_ns) noexcept {
  const std::size_t bytes = columns * sizeof(record::Value);
  if (dropped_since_ns_ != 0) return false;
  if (waiting_bytes_ + bytes > kMostWaitingBytes) {
    dropped_since_ns_ = now_ns;
    return false;
  }
  waiting_bytes_ += bytes;
  return true;
}

void Outbox::push_waiting() {
  while (!waiting_.empty()) {
    QueueItem* slot = queue_.free_slot();
    if (slot == nullptr) return;
    if (dropped_since_ns_ != 0 && waiting_bytes_ == 0) {
      slot->record = record::Gap{std::exchange(dropped_since_ns_, 0),
                                 base::monotonic_ns(),
                                 record::GapReason::kDropped,
                                 {}};
      slot->ack.reset();
      queue_.push();
      continue;
    }
    Waiting& first = waiting_.front();
    if (auto* row = std::get_if<record::Sample>(&first.what)) {
      waiting_bytes_ -= row->values.size() * sizeof(record::Value);
      slot->record.reset();
      slot->sample = *row;
    } else {
      slot->record = std::get<record::Record>(std::move(first.what));
    }
    slot->ack = first.ack;
    waiting_.pop_front();
    queue_.push();
  }
}

bool Outbox::push_last(const std::optional<record::End>& end) {
  push_waiting();
  QueueItem* slot = waiting_.empty() ? queue_.free_slot() : nullptr;
  if (slot == nullptr) return false;
  slot->record.reset();
  if (end) slot->record = *end;
  slot->ack.reset();
  slot->last = true;
  queue_.push();
  return true;
}

}  // namespace tools
