#pragma once
// What a counter gained between the two edges of a cell.
//
// The sampler's sample is taken a little after the kernel has read its own counters (the marks).
// What the kernel's process and its reaped children did in between belongs to no cell, so their
// part is taken from the marks and only the rest of the tree from the samples:
//
//   value at an edge = total - root + mark
//
// A process that was apart from the tree (a spare engine that waits) may be in `root` and `mark`,
// once it was waited for, and is never in `total`: that is right so.
//
// A child that is reaped between mark and sample is in `root` already but not in `mark`. Then, as
// far as it shows, the sampler's total stands alone: where `root` gained more CPU time than the
// root process can have used itself meanwhile, and where the value lies below what the sample
// before the mark had counted. (Not where the sample lies far from the mark.)

#include <cstdint>
#include <optional>

#include "record/records.hpp"
#include "store/cell_span.hpp"
#include "store/frame.hpp"

namespace store {

struct Gain {
  std::int64_t value = 0;
  // The time that it was gained in: of the marks where they count, else of the samples.
  std::int64_t duration_ns = 0;
  bool kernel_only = false;  // no samples: the kernel process and the children it waited for
};

// The kernel's own counter; for CPU time with its reaped children. Unknown without marks.
record::Value mark_of(const record::EdgeCounters* marks, Counter counter) noexcept;

// An edge's sample, and the last one before its mark; nullptr where there is none.
struct EdgeFrames {
  const Frame* at = nullptr;
  const Frame* before = nullptr;
};

// `restarted`: by how much the total fell in between because it began anew, which is put back.
// nullopt when neither samples nor marks can tell.
std::optional<Gain> gain_of(Counter counter, const CellSpan& span, EdgeFrames begin, EdgeFrames end,
                            std::int64_t restarted) noexcept;

// How far a total of level `process` may fall by rounding alone: reaped children's CPU time counts
// in 10 ms steps.
std::int64_t rounding_of(Counter counter) noexcept;

}  // namespace store
