#pragma once
// From the tick to the disk: a ring of preallocated items with one producer (the tick's thread)
// and one consumer (the disk's thread). No lock; the producer never waits.
//
//   produced_ ─ counts items filled           consumed_ ─ counts items given back
//   slot = count % size; the producer may fill while produced_ - consumed_ < size.
//
// ready_ holds one token for each item handed over; some may be held back until the next is. A
// semaphore of POSIX and no std::atomic::wait: that one spins and calls sched_yield() before it
// sleeps, at every tick, and the next item never comes as soon as that.

#include <semaphore.h>
#include <time.h>

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
    ::sem_init(&ready_, 0, 0);
  }
  RowQueue(const RowQueue&) = delete;
  RowQueue& operator=(const RowQueue&) = delete;
  ~RowQueue() { ::sem_destroy(&ready_); }

  // The producer's next free slot, or nullptr when the disk is that far behind.
  QueueItem* free_slot() noexcept {
    if (produced_ - consumed_.load(std::memory_order_acquire) >= items_.size()) {
      return nullptr;
    }
    return &items_[produced_ % items_.size()];
  }
  // Hands over what free_slot() gave, behind all that was held back.
  void push() noexcept {
    hold_back();
    hand_over();
  }
  // It goes with what is handed over next: waking the consumer costs both threads some 50 us, or
  // many times that where each has slept in a virtual machine. Half of the slots at most.
  void hold_back() noexcept {
    ++produced_;
    ++held_back_;
    if (held_back_ > items_.size() / 2) hand_over();
  }
  void hand_over() noexcept {
    handed_over_.store(produced_, std::memory_order_release);
    for (; held_back_ > 0; --held_back_) ::sem_post(&ready_);
  }

  // The producer: the consumer has not yet given back all that was handed over.
  [[nodiscard]] bool has_unwritten() const noexcept {
    return produced_ - held_back_ != consumed_.load(std::memory_order_acquire);
  }

  // The consumer: waits for an item; it stays until pop().
  QueueItem& front() noexcept {
    while (!has_front_) has_front_ = ::sem_wait(&ready_) == 0;  // a signal makes it fail
    return items_[consumed_local_ % items_.size()];
  }
  // The same, but nullptr when none comes within `wait_ns`.
  QueueItem* front_within(std::int64_t wait_ns) noexcept {
    if (!has_front_) {
      timespec until{};
      ::clock_gettime(CLOCK_MONOTONIC, &until);
      const std::int64_t nanoseconds = until.tv_nsec + wait_ns;
      until.tv_sec += nanoseconds / 1'000'000'000;
      until.tv_nsec = nanoseconds % 1'000'000'000;
      has_front_ = ::sem_clockwait(&ready_, CLOCK_MONOTONIC, &until) == 0;
      // The semaphore orders memory, too, but ThreadSanitizer doesn't know sem_clockwait().
      static_cast<void>(handed_over_.load(std::memory_order_acquire));
    }
    return has_front_ ? &items_[consumed_local_ % items_.size()] : nullptr;
  }
  void pop() noexcept {
    has_front_ = false;
    ++consumed_local_;
    consumed_.store(consumed_local_, std::memory_order_release);
  }

 private:
  std::vector<QueueItem> items_;
  sem_t ready_{};
  std::uint64_t produced_ = 0;   // the producer's alone, as is
  std::uint64_t held_back_ = 0;  // the last of those, with no token yet
  std::atomic<std::uint64_t> handed_over_ = 0;
  alignas(64) std::atomic<std::uint64_t> consumed_ = 0;
  std::uint64_t consumed_local_ = 0;
  bool has_front_ = false;
};

}  // namespace tools
