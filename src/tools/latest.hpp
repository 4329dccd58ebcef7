#pragma once
// The newest of something that one thread makes and another looks at: no lock, nobody waits. Three
// go around: one is read, one is written, one lies between.

#include <array>
#include <atomic>
#include <cstdint>

namespace tools {

template <typename T>
class Latest {
 public:
  // The writer's: to be filled in for publish(). It holds what was there three rounds ago.
  [[nodiscard]] T& next() noexcept { return rounds_[back_]; }
  void publish() noexcept {
    back_ = between_.exchange(back_ | kNew, std::memory_order_acq_rel) & ~kNew;
  }

  // The reader's: good until the next call.
  [[nodiscard]] const T& newest() noexcept {
    if ((between_.load(std::memory_order_relaxed) & kNew) != 0) {
      front_ = between_.exchange(front_, std::memory_order_acq_rel) & ~kNew;
    }
    return rounds_[front_];
  }

 private:
  static constexpr std::uint32_t kNew = 4;
  std::array<T, 3> rounds_{};
  std::uint32_t front_ = 0;
  std::uint32_t back_ = 1;
  std::atomic<std::uint32_t> between_{2};
};

}  // namespace tools
