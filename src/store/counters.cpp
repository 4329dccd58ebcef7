#include "store/counters.hpp"

#include <algorithm>
#include <limits>

namespace store {
namespace {

__extension__ using Wide = __int128;  // sums of hostile values never overflow

constexpr std::int64_t kCpuRoundingNs = 25'000'000;

struct EdgeValue {
  Wide value = 0;
  std::int64_t time_ns = 0;
};

// Between mark and sample the root process has waited for children: its counters differ by more
// than it can have used itself. What they had used stands in the later of the two at the root, in
// the earlier one (if that is a sample) at the children.
bool has_waited_between(const CellEdge& edge, const Frame& frame) noexcept {
  const record::Value root = frame.root[kCpuTime];
  const record::Value mark = mark_of(edge.marks, kCpuTime);
  if (!record::is_known(root) || !record::is_known(mark)) return false;
  const record::Value millicores = std::max<record::Value>(frame.gauge[kCapacityMillicores], 1000);
  const Wide apart_ns = Wide{frame.time_ns} - edge.time_ns;
  const Wide most_ns = (apart_ns < 0 ? -apart_ns : apart_ns) * millicores / 1000 + kCpuRoundingNs;
  const Wide gained_ns = Wide{root} - mark;
  return (apart_ns < 0 ? -gained_ns : gained_ns) > most_ns;
}

EdgeValue value_at(Counter counter, const CellEdge& edge, EdgeFrames frames) noexcept {
  const record::Value total = frames.at->total[counter];
  const record::Value root = frames.at->root[counter];
  const record::Value mark = mark_of(edge.marks, counter);
  const EdgeValue alone{total, frames.at->time_ns};
  if (!record::is_known(root) || !record::is_known(mark)) return alone;
  const Wide value = Wide{total} - root + mark;
  const bool waited = has_waited_between(edge, *frames.at);
  if (waited && frames.at->time_ns < edge.time_ns) {
    // What the root has over the total is of processes that were apart: in the mark, too.
    return {std::max<Wide>(total, mark - std::max<Wide>(Wide{root} - total, 0)), edge.time_ns};
  }
  const record::Value before = frames.before != nullptr ? frames.before->total[counter] : 0;
  const bool fell = record::is_known(before) && value + rounding_of(counter) < before;
  const bool told = waited && (counter == kCpuTime || !edge.near);
  return told || (edge.near && fell) ? alone : EdgeValue{value, edge.time_ns};
}

std::int64_t limited(Wide value) noexcept {
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(value, Wide{0}, kMost));
}

bool has_total(Counter counter, const Frame* frame) noexcept {
  return frame != nullptr && record::is_known(frame->total[counter]);
}

bool has_split(Counter counter, const CellEdge& edge, const Frame& frame) noexcept {
  return record::is_known(frame.root[counter]) && record::is_known(mark_of(edge.marks, counter));
}

}  // namespace

record::Value mark_of(const record::EdgeCounters* marks, Counter counter) noexcept {
  constexpr record::Value kNone = record::unknown(record::State::kNotYet);
  if (marks == nullptr) return kNone;
  switch (counter) {
    case kCpuTime: {
      const record::Value own = marks->cpu_time_ns;
      const record::Value children = marks->children_cpu_time_ns;
      if (!record::is_known(own) || !record::is_known(children)) return kNone;
      return limited(Wide{own} + children);
    }
    case kIoReadBytes:
      return marks->io_read_bytes;
    case kIoWriteBytes:
      return marks->io_write_bytes;
    case kIoReadOps:
      return marks->io_read_ops;
    case kIoWriteOps:
      return marks->io_write_ops;
    case kStorageReadBytes:
      return marks->storage_read_bytes;
    case kStorageWriteBytes:
      break;
  }
  return marks->storage_write_bytes;
}

std::int64_t rounding_of(Counter counter) noexcept {
  return counter == kCpuTime ? kCpuRoundingNs : 0;
}

std::optional<Gain> gain_of(Counter counter, const CellSpan& span, EdgeFrames begin, EdgeFrames end,
                            std::int64_t restarted) noexcept {
  if (has_total(counter, begin.at) && has_total(counter, end.at)) {
    // The same sample at both edges tells only what the marks tell.
    const bool one_sample = begin.at->time_ns == end.at->time_ns;
    if (!one_sample ||
        (has_split(counter, span.begin, *begin.at) && has_split(counter, span.end, *end.at))) {
      const EdgeValue from = value_at(counter, span.begin, begin);
      const EdgeValue to = value_at(counter, span.end, end);
      return Gain{limited(to.value - from.value + restarted),
                  std::max<std::int64_t>(to.time_ns - from.time_ns, 0), false};
    }
  }
  const record::Value from = mark_of(span.begin.marks, counter);
  const record::Value to = mark_of(span.end.marks, counter);
  if (!record::is_known(from) || !record::is_known(to)) return std::nullopt;
  return Gain{limited(Wide{to} - from), span.duration_ns(), true};
}

}  // namespace store
