#pragma once
// What the tick's thread and the driver's thread give each other. The driver may hang for good: the
// tick never waits for it, and whoever of the two lives longest frees this.

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record/records.hpp"

namespace probe {

// Everything that was found so far; the next one has the same and more. `missing`: said once each.
struct GpuReport {
  std::vector<record::Column> columns;
  std::vector<record::Device> devices;
  std::vector<record::Missing> missing;
};

// The values of all cards at one moment.
struct GpuRound {
  std::shared_ptr<const GpuReport> report;  // empty: nothing was found so far
  std::vector<record::Value> values;        // as many as its columns
  std::int64_t fresh_until_ns = 0;
};

class GpuExchange {
 public:
  // Room for the processes of any usual tree: the tick that names them allocates nothing.
  GpuExchange() { pids_.reserve(1024); }

  // ---- the tick's thread ----

  // Wants another round; `full`: with the processes on the cards. Doesn't wait.
  void ask(bool full) noexcept { wish(full ? kRound | kFull : kRound); }
  // The last round that is complete; good until the next call.
  const GpuRound& newest() noexcept;
  // True when a call of the driver takes longer than it may.
  [[nodiscard]] bool is_silent(std::int64_t now_ns) const noexcept;
  // Whose use of the cards is ours. Left out when the other thread is reading the list right now.
  void set_processes(std::span<const pid_t> pids) noexcept;
  void set_visible(std::optional<std::string> list);
  // Tells the other thread to end.
  void stop() noexcept { wish(kStop); }
  // Waits for its end, so long at most. True when it has ended.
  bool await_end(std::int64_t most_ns) noexcept;
  [[nodiscard]] bool ended() const noexcept { return ended_.load(std::memory_order_acquire) != 0; }
  // True when it has ended for want of memory.
  [[nodiscard]] bool failed() const noexcept {
    return ended_.load(std::memory_order_acquire) == kFailed;
  }

  // ---- the driver's thread ----

  enum Wish : std::uint32_t { kRound = 1, kFull = 2, kInbox = 4, kStop = 8 };
  // Waits for a wish, so long at most (< 0: for ever). Returns those there are and clears them, but
  // kStop, which stays.
  std::uint32_t wait(std::int64_t most_ns) noexcept;
  // Sleeps; true when it is to stop instead.
  bool sleep(std::int64_t most_ns) noexcept;
  // To be filled in for publish().
  GpuRound& next_round() noexcept { return rounds_[back_]; }
  void publish() noexcept;
  // The driver is called now and should be back in time; 0: it is back.
  void expect_back(std::int64_t until_ns) noexcept {
    back_until_ns_.store(until_ns, std::memory_order_relaxed);
  }
  // What was set since the last call; nullopt: nothing.
  std::optional<std::vector<pid_t>> take_processes();
  std::optional<std::optional<std::string>> take_visible();
  // The last call.
  void end(bool failed) noexcept;

 private:
  void wish(std::uint32_t wishes) noexcept;

  // Three rounds go around: one is read, one is written, one lies between.
  static constexpr std::uint32_t kNew = 4;
  static constexpr std::uint32_t kEnded = 1;
  static constexpr std::uint32_t kFailed = 2;
  std::array<GpuRound, 3> rounds_;
  std::uint32_t front_ = 0;                // the tick's
  std::uint32_t back_ = 1;                 // the driver's thread's
  std::atomic<std::uint32_t> between_{2};  // with kNew when it wasn't read yet

  std::atomic<std::uint32_t> wishes_{0};
  std::atomic<std::uint32_t> ended_{0};
  std::atomic<std::int64_t> back_until_ns_{0};

  std::mutex inbox_;  // never held while the driver is called
  std::vector<pid_t> pids_;
  bool pids_set_ = false;
  std::optional<std::string> visible_;
  bool visible_set_ = false;
};

}  // namespace probe
