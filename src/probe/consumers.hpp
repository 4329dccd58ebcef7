#pragma once
// Which processes of a tree used most between two edges of cells.

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "probe/process.hpp"
#include "record/records.hpp"

namespace probe {

// A process has used what its own CPU clock gained, its children apart. What nobody's clock tells
// (children that started and ended between two looks, the end of those that ended) is in the
// tree's total all the same: `others_cpu_time_ns` holds it. So list and others add up to what the
// total gained.
class Consumers {
 public:
  Consumers();

  // Begins now: what `list` and `total_ns` hold already is told.
  void begin(std::span<Process> list, std::int64_t total_ns, std::int64_t now_ns) noexcept;

  // `process` has ended and leaves the list. Of those that end between two calls of take() the
  // kMostEnded largest are kept, and the two that held most memory; the others are counted.
  void note_ended(const Process& process) noexcept;

  // What was used since the last call: the root, the two that hold most memory, then those that
  // used most, by CPU time. With no memory for the list, all are others. Allocates the list, and
  // more only when there are more processes than ever.
  record::Consumers take(std::span<Process> list, pid_t root_pid, std::int64_t root_start_ticks,
                         std::int64_t total_ns, std::int64_t now_ns) noexcept;

  static constexpr std::size_t kMostEnded = 64;

  // The kMostLargest processes of `list` that hold most memory now, largest first; empty when there
  // is no memory for the list. Takes nothing from take().
  static std::vector<record::Consumer> largest(std::span<const Process> list) noexcept;
  static constexpr std::size_t kMostLargest = 5;

 private:
  void forget_smallest() noexcept;
  void collect(std::span<const Process> list);
  std::size_t choose(pid_t root_pid, std::int64_t root_start_ticks) noexcept;

  struct Candidate {
    const Process* process = nullptr;  // nullptr: it has ended
    std::size_t ended = 0;             // its place in `ended_`
    pid_t pid = 0;
    std::int64_t start_ticks = 0;
    std::int64_t cpu_ns = 0;
    std::int64_t memory_bytes = 0;
  };

  std::vector<record::Consumer> ended_;
  std::int64_t forgotten_ = 0;  // ended ones that aren't in it and had used CPU time
  std::vector<Candidate> candidates_;
  std::int64_t begin_ns_ = 0;
  std::int64_t told_ns_ = 0;  // of the total: in lists and their others
};

}  // namespace probe
