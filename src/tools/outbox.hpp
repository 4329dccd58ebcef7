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
  // Allocates only when the disk is behind.
  template <typename Fill>
  void push_row(std::size_t columns, std::int64_t now_ns, Fill fill) noexcept {
    if (QueueItem* slot = waiting_.empty() ? queue_.free_slot() : nullptr) {
      slot->record.reset();
      slot->sample.values.resize(columns);  // never more than it was made with
      fill(slot->sample);
      queue_.push();
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
  struct Waiting {
    std::variant<record::Record, record::Sample> what;
    std::optional<record::Ack> ack;
  };
  bool has_room(std::size_t columns, std::int64_t now_ns) noexcept;

  RowQueue queue_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;  // of the rows in there
  std::int64_t dropped_since_ns_ = 0;
};

}  // namespace tools
