#pragma once
// The marks that no sampler has written yet, in order. Without any sampler the history lives here:
// whole, but for the oldest cells' code once it is more than 64 MiB. Not thread-safe.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/socket.hpp"
#include "record/marks.hpp"

namespace watch {

// A cell as this process knows it, before the recording has it.
struct PendingCell {
  record::CellBegin begin;
  std::optional<record::CellEnd> end;
};

class Unacknowledged {
 public:
  using Send = std::function<base::SendResult(const record::Message&)>;

  void add(record::Message mark);
  // Sends what the present sampler hasn't got. False: the socket is full, try again later.
  bool send(const Send& send);
  // There is another sampler, or none: all is to be sent again.
  void forget_sent() noexcept;
  // Forgets the mark, and all before it: those of groups are acknowledged by the cell after them.
  // False when it isn't here.
  bool acknowledge(const record::Ack& ack);

  [[nodiscard]] bool empty() const noexcept { return marks_.empty(); }
  [[nodiscard]] bool has_unsent() const noexcept;
  [[nodiscard]] bool has_end_of(std::int64_t index) const noexcept;
  [[nodiscard]] std::vector<PendingCell> cells() const;
  [[nodiscard]] std::vector<record::Group> groups() const;

 private:
  struct Mark {
    record::Message message;
    bool sent = false;
  };
  std::deque<Mark> marks_;
  std::size_t source_bytes_ = 0;
};

}  // namespace watch
