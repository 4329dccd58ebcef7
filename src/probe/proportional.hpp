#pragma once
// Proportional sizes (PSS): shared pages divided among those who map them. Measuring walks all page
// tables (16 ms a GB of small pages, the process's memory lock held for reading), so a thread of
// its own does it, seldom.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "probe/process_files.hpp"
#include "record/value.hpp"

namespace probe {

// The thread's results go to the sampler's thread through one atomic number and nothing else: who
// may touch the list is decided by it, nobody waits. The thread has all signals blocked and ends
// with this object (which waits for the measurement under way).
class Proportional {
 public:
  struct Size {
    pid_t pid = 0;
    std::int64_t start_ticks = 0;  // identity
    std::int64_t resident_bytes = 0;
    std::int64_t proportional_bytes = 0;
    record::State state = record::State::kNotYet;  // kVanished: it ended before
    record::Value swap_bytes = record::unknown(record::State::kNotYet);
  };

  // The whole tree, one after the other.
  struct Measurement {
    std::vector<Size> sizes;
    std::uint64_t generation = 0;  // the caller's mark of the set of processes
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
  };

  // No thread can be started: running() is false, and nothing is ever measured.
  explicit Proportional(const std::string& root);
  ~Proportional();
  Proportional(const Proportional&) = delete;
  Proportional& operator=(const Proportional&) = delete;

  [[nodiscard]] bool running() const noexcept { return thread_.joinable(); }

  // Sampler's thread only, all of them. The list to fill in (pid and start_ticks) before start();
  // nullptr while the thread has it, or a result wasn't taken.
  [[nodiscard]] Measurement* idle_list() noexcept;
  void start() noexcept;
  // The finished measurement, or nullptr; after done_with() the list is idle.
  [[nodiscard]] const Measurement* finished() const noexcept;
  void done_with() noexcept;

 private:
  enum Turn : int { kIdle, kMeasure, kFinished, kStop };
  void run() noexcept;
  void measure(std::vector<char>& buffer) noexcept;

  ProcDirectory proc_;
  Measurement measurement_;  // the sampler's thread's in kIdle and kFinished, else the thread's
  std::atomic<int> turn_ = kIdle;
  std::thread thread_;
};

}  // namespace probe
