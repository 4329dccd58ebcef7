#pragma once
// Rows and records on their way to the disk's thread, in order. The loop's thread only.
//
// Records are never dropped: they wait when the disk is behind (the kernel bounds how many it has
// unacknowledged). Rows wait, too, up to 2 MiB of them; what comes then is dropped, and a gap says
// from when to when.

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>

#include "record/marks.hpp"
#include "tools/row_queue.hpp"

namespace tools {

class Outbox {
 public:
  explicit Outbox(std::size_t most_columns);

  [[nodiscard]] RowQueue& queue() noexcept { return queue_; }
  [[nodiscard]] bool has_unwritten() const noexcept { return queue_.has_unwritten(); }

  void push(record::Record record, std::optional<record::Ack> ack = {});
  // A row of `columns` values at `now_ns`: `fill` is given the sample, unless it is dropped.
  // Where the next one comes `next_ns` later it may wait for it, so that rows are written some
  // times a second; 0: it doesn't. Allocates only when the disk is behind.
  template <typename Fill>
  void push_row(std::size_t columns, std::int64_t now_ns, std::int64_t next_ns,
                Fill fill) noexcept {
    if (QueueItem* slot = waiting_.empty() ? queue_.free_slot() : nullptr) {
      slot->record.reset();
      slot->sample.values.resize(columns);  // never more than it was made with
      fill(slot->sample);
      if (next_ns > 0 && now_ns + next_ns - handed_over_ns_ <= kMostHeldBackNs) {
        queue_.hold_back();
      } else {
        queue_.push();
        handed_over_ns_ = now_ns;
      }
    } else if (has_room(columns, now_ns)) {
      record::Sample sample;
      sample.values.resize(columns);
      fill(sample);
      waiting_.push_back({std::move(sample), {}});
    }
  }
  // Once a turn of the loop: what waits goes on as far as there is room.
  void push_waiting();
  // The last item. False: there is no room yet.
  bool push_last(const std::optional<record::End>& end);

 private:
  static constexpr std::int64_t kMostHeldBackNs = 400'000'000;  // of the second that may be lost

  struct Waiting {
    std::variant<record::Record, record::Sample> what;
    std::optional<record::Ack> ack;
  };
  bool has_room(std::size_t columns, std::int64_t now_ns) noexcept;

  RowQueue queue_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;  // of the rows in there
  std::int64_t dropped_since_ns_ = 0;
  std::int64_t handed_over_ns_ = 0;  // the last row
};

}  // namespace tools
