#include "transfer/copy.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <vector>

#include "base/process.hpp"

namespace transfer {
namespace {

constexpr std::size_t kSliceBytes = 8U << 20;  // some 2 ms: threads end at nearly the same time
constexpr std::size_t kTurnBytes = 1U << 20;   // small items are taken many at a time

class Slices {
 public:
  Slices(std::span<const std::size_t> sizes_bytes, const SliceWork& work)
      : sizes_bytes_(sizes_bytes), work_(work) {}

  void run() {
    for (Turn turn = take(); turn.item < sizes_bytes_.size(); turn = take()) do_turn(turn);
  }
  [[nodiscard]] int code() const { return code_; }

 private:
  // A slice of one item, or items that are small, as many as make up for taking the lock.
  struct Turn {
    std::size_t item = 0;
    std::size_t items = 0;
    std::size_t begin_bytes = 0;  // in the first item
    std::size_t size_bytes = 0;   // of all together
  };

  Turn take() {
    const std::lock_guard lock(mutex_);
    if (code_ != 0) return {.item = sizes_bytes_.size()};
    Turn turn{item_, 0, begin_bytes_, 0};
    while (item_ < sizes_bytes_.size() && turn.size_bytes < kTurnBytes) {
      const std::size_t left = sizes_bytes_[item_] - begin_bytes_;
      if (turn.items > 0 && left > kTurnBytes) break;
      ++turn.items;
      const std::size_t slice = std::min(left, kSliceBytes);
      turn.size_bytes += slice;
      begin_bytes_ = slice == left ? 0 : begin_bytes_ + slice;
      if (slice == left) ++item_;
    }
    return turn;
  }

  void do_turn(const Turn& turn) {
    std::size_t begin_bytes = turn.begin_bytes;
    std::size_t left_bytes = turn.size_bytes;
    for (std::size_t i = turn.item; i < turn.item + turn.items; ++i) {
      const std::size_t size_bytes = std::min(left_bytes, sizes_bytes_[i] - begin_bytes);
      const int code = size_bytes == 0 ? 0 : work_(i, begin_bytes, size_bytes);
      if (code != 0) return fail(code);
      left_bytes -= size_bytes;
      begin_bytes = 0;
    }
  }

  void fail(int code) {
    const std::lock_guard lock(mutex_);
    if (code_ == 0) code_ = code;
  }

  std::span<const std::size_t> sizes_bytes_;
  const SliceWork& work_;
  std::mutex mutex_;
  std::size_t item_ = 0;  // where the next turn begins
  std::size_t begin_bytes_ = 0;
  int code_ = 0;
};

// False where the system gives no more threads (EAGAIN): those that are there do it all.
bool start_another(std::vector<std::thread>& others, Slices& slices) {
  try {
    others.emplace_back([&slices] { slices.run(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace

int for_slices(std::span<const std::size_t> sizes_bytes, int threads, const SliceWork& work) {
  const auto total_bytes = std::accumulate(sizes_bytes.begin(), sizes_bytes.end(), std::size_t{0});
  const auto most = static_cast<std::size_t>(std::max(threads, 1));
  const std::size_t wanted = std::min(most, total_bytes / kSliceBytes + 1);
  Slices slices(sizes_bytes, work);
  const base::SignalsBlocked blocked;
  std::vector<std::thread> others;
  others.reserve(wanted - 1);
  while (others.size() + 1 < wanted && start_another(others, slices)) continue;
  slices.run();
  for (std::thread& other : others) other.join();
  return slices.code();
}

void copy_all(std::span<const Copy> copies, int threads) {
  std::vector<std::size_t> sizes_bytes;
  sizes_bytes.reserve(copies.size());
  for (const Copy& copy : copies) sizes_bytes.push_back(copy.size_bytes);
  for_slices(sizes_bytes, threads, [&](std::size_t i, std::size_t begin, std::size_t size) {
    std::memcpy(copies[i].to + begin, copies[i].from + begin, size);
    return 0;
  });
}

}  // namespace transfer
