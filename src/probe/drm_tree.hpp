#pragma once
// What the watched processes use of the graphics cards, as one thread finds it and another one
// takes it.

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "probe/drm_cards.hpp"
#include "probe/drm_cause.hpp"
#include "probe/drm_clients.hpp"
#include "probe/drm_scan.hpp"

namespace probe {

// A list of processes that changes hands without anybody waiting: who finds the other one at it
// goes without.
class DrmInbox {
 public:
  // More than kMostDrmProcesses: the first ones, and one more, so that it is seen.
  void put(std::span<const pid_t> pids) noexcept;
  // True when `pids` is the newest list; false when there is none, or not now.
  bool take(std::vector<pid_t>& pids);

 private:
  std::atomic_flag taken_;
  std::array<pid_t, kMostDrmProcesses + 1> pids_{};
  std::size_t count_ = 0;
  bool given_ = false;
};

class DrmTree {
 public:
  enum Metric : std::size_t { kCardMemory, kMainMemory, kBusy, kMetrics };
  // Why a value that is there is a lower bound.
  enum Bound : unsigned { kExact = 0, kCut = 1, kRefused = 2, kCompute = 4 };

  DrmTree(const std::string& root, const DrmCards& cards);

  // ---- the thread that looks ----
  void round();

  // ---- the tick's thread; they never wait ----
  // There is no thread that looks.
  void give_up() noexcept;
  void set_processes(std::span<const pid_t> pids) noexcept { inbox_.put(pids); }
  // When the last round has ended, or this was made.
  [[nodiscard]] std::int64_t time_ns() const noexcept {
    return time_ns_.load(std::memory_order_acquire);
  }
  // A number, or drm_unknown(why not).
  [[nodiscard]] std::int64_t value(std::size_t card, Metric metric) const noexcept {
    return slots_[card].values[metric].load(std::memory_order_relaxed);
  }
  [[nodiscard]] unsigned bounds(std::size_t card, Metric metric) const noexcept;

 private:
  struct Slots {
    std::array<std::atomic<std::int64_t>, kMetrics> values;
    std::atomic<unsigned> bounds = kExact;
  };
  void put(std::size_t card, const DrmScan::Notes& notes);

  DrmInbox inbox_;
  std::vector<Slots> slots_;  // by card
  std::atomic<std::int64_t> time_ns_;

  std::vector<char> is_amd_;  // by card
  std::vector<pid_t> pids_;
  bool given_ = false;
  bool compute_ = false;  // one had /dev/kfd open
  DrmScan scan_;
  DrmClients clients_;
};

}  // namespace probe
