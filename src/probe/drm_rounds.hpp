#pragma once
// A thread that does the same thing again and again, and may hang in it for good.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace probe {

// The thread has all signals blocked. A call of the kernel that hangs can't be ended, so then the
// thread is left behind: all that `round` uses must belong to it (shared pointers in its capture).
class DrmRounds {
 public:
  // The first round begins at once, the next one `pause_ns` after the last has ended; 300 times as
  // long as that has worked, when that is longer, but not more than kMostPauseTimes * pause_ns: so
  // the thread takes 0.3 % of a core unless a round works for longer than 10 ms. What a round
  // throws ends only that round.
  // running() is false when no thread could be started.
  DrmRounds(std::function<void()> round, std::int64_t pause_ns);
  // Waits kPatienceNs at most, counted from tell_to_end().
  ~DrmRounds();
  DrmRounds(const DrmRounds&) = delete;
  DrmRounds& operator=(const DrmRounds&) = delete;

  [[nodiscard]] bool running() const noexcept { return running_; }
  // So that several end at once: all are told before any is waited for.
  void tell_to_end() noexcept;

  static constexpr std::int64_t kPatienceNs = 100'000'000;
  static constexpr std::int64_t kMostPauseTimes = 3;

 private:
  struct State {
    std::mutex lock;  // never held during a round
    std::condition_variable changed;
    bool stop = false;
    bool ended = false;
    std::function<void()> round;
    std::int64_t pause_ns = 0;
  };
  static void run(const std::shared_ptr<State>& state) noexcept;

  std::shared_ptr<State> state_;
  bool running_ = false;
  std::int64_t told_ns_ = 0;
};

}  // namespace probe
