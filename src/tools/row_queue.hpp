#pragma once
// From the tick to the disk: a ring of preallocated items with one producer (the tick's thread)
// and one consumer (the disk's thread). No lock; the producer never waits.
//
//   produced_ ─ counts items handed over      consumed_ ─ counts items given back
//   slot = count % size; the producer may fill while produced_ - consumed_ < size.

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "record/marks.hpp"
#include "record/records.hpp"

namespace tools {

struct QueueItem {
  // Either a row, or a record (then `sample` isn't read).
  record::Sample sample;
  std::optional<record::Record> record;
  std::optional<record::Ack> ack;  // to be sent once the record is written
  bool last = false;               // nothing follows: the disk's thread ends
};

class RowQueue {
 public:
  RowQueue(std::size_t slots, std::size_t columns) : items_(slots) {
    for (QueueItem& item : items_) item.sample.values.resize(columns);
  }

  // The producer's next free slot, or nullptr when the disk is that far behind.
  QueueItem* free_slot() noexcept {
    if (produced_local_ - consumed_.load(std::memory_order_acquire) >= items_.size()) {
      return nullptr;
    }
    return &items_[produced_local_ % items_.size()];
  }
  // Hands over what free_slot() gave.
  void push() noexcept {
    ++produced_local_;
    produced_.store(produced_local_, std::memory_order_release);
    produced_.notify_one();
  }

  // The consumer: waits for an item; it stays until pop().
  QueueItem& front() noexcept {
    produced_.wait(consumed_local_, std::memory_order_acquire);
    return items_[consumed_local_ % items_.size()];
  }
  void pop() noexcept {
    ++consumed_local_;
    consumed_.store(consumed_local_, std::memory_order_release);
  }

 private:
  std::vector<QueueItem> items_;
  alignas(64) std::atomic<std::uint64_t> produced_ = 0;
  std::uint64_t produced_local_ = 0;
  alignas(64) std::atomic<std::uint64_t> consumed_ = 0;
  std::uint64_t consumed_local_ = 0;
};

}  // namespace tools
