#pragma once
// One piece of work on a thread of its own, for what would hold the disk's thread up: to copy a
// recording, to thin it, to look through a directory. All signals are blocked in it.

#include <atomic>
#include <functional>
#include <thread>

#include "base/process.hpp"

namespace tools {

class Errand {
 public:
  // `work` is given what says that it shall stop: it then returns soon, however far it is.
  using Stop = std::atomic<bool>;
  explicit Errand(std::function<void(const Stop& stop)> work) {
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this, work = std::move(work)] {
      work(stop_);
      finished_.store(true, std::memory_order_release);
    });
  }
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  // Waits for its end.
  ~Errand() {
    stop_ = true;
    thread_.join();
  }

  // What the work has written is then there for the caller.
  [[nodiscard]] bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

 private:
  Stop stop_ = false;
  std::atomic<bool> finished_ = false;
  std::thread thread_;
};

}  // namespace tools
