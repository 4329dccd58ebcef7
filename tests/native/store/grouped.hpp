#pragma once
// Made-up recordings with groups of cells.

#include <string>

#include "store/group_summary.hpp"
#include "store/synthetic.hpp"

namespace synthetic {

// A cell that uses `busy_ms` of CPU time on its two cores in `duration_ms`, with a tick every
// 100 ms; at the one in the middle memory stands at `memory`. The counters go on from cell to cell.
class Cells {
 public:
  explicit Cells(Recorder& recorder) : recorder_(recorder) {}

  void cell(std::int64_t index, std::int64_t begin_ns, std::int64_t duration_ms,
            std::int64_t busy_ms, std::int64_t memory,
            record::Outcome outcome = record::Outcome::kOk) {
    const std::int64_t end_ns = begin_ns + duration_ms * kMs;
    edge(begin_ns);
    recorder_.add(cell_begin(begin_ns, begin_ns, marks(cpu_ns_), index));
    const std::int64_t before_ns = cpu_ns_;
    for (std::int64_t since_ms = 100; since_ms < duration_ms; since_ms += 100) {
      cpu_ns_ = before_ns + busy_ms * since_ms * kMs / duration_ms;
      recorder_.row(begin_ns + since_ms * kMs,
                    with_memory(since_ms == duration_ms / 2 ? memory : 100 * kMiB));
    }
    cpu_ns_ = before_ns + busy_ms * kMs;
    edge(end_ns);
    recorder_.add(cell_end(end_ns, end_ns, marks(cpu_ns_), index, outcome));
  }
  void step(std::int64_t index, std::int64_t time_ns, record::GroupStep step,
            std::string name = "") {
    recorder_.add(record::Group{index, time_ns, step, std::move(name), {}});
  }

 private:
  void edge(std::int64_t time_ns) { recorder_.edge(time_ns, with_memory(100 * kMiB)); }
  [[nodiscard]] Values with_memory(std::int64_t memory) const {
    return {{"process.cpu_time_ns", cpu_ns_},
            {"process.root_cpu_time_ns", cpu_ns_},
            {"process.memory_bytes", memory}};
  }

  Recorder& recorder_;
  std::int64_t cpu_ns_ = 0;
};

// Two cells of 1 and 3 s with a long pause between them, and one before and one behind the group.
inline void two_cells(Recorder& recorder, record::Outcome outcome = record::Outcome::kOk) {
  Cells cells(recorder);
  cells.cell(1, kStart, 1000, 2000, 900 * kMiB);
  cells.step(1, kStart + 2 * kSecond, record::GroupStep::kBegun, "train");
  cells.cell(2, kStart + 10 * kSecond, 1000, 2000, 200 * kMiB);
  cells.cell(3, kStart + 60 * kSecond, 3000, 600, 300 * kMiB, outcome);
  cells.step(1, kStart + 70 * kSecond, record::GroupStep::kEnded);
  cells.cell(4, kStart + 80 * kSecond, 1000, 2000, 900 * kMiB);
}

inline store::CellSummary group_summary_of(const store::Recording& recording,
                                           std::size_t place = 0) {
  const store::Group& group = recording.groups().at(place);
  return store::summarize_group(recording, group, store::cells_of(group.index, recording.cells()));
}

}  // namespace synthetic
