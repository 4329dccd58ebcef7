#include "store/counters.hpp"

#include <algorithm>
#include <limits>

namespace store {
namespace {

__extension__ using Wide = __int128;  // sums of hostile values never overflow

constexpr std::int64_t kCpuToleranceNs = 25'000'000;
constexpr std::int64_t kBytesTolerance = 1 << 20;  // what a kernel writes between mark and sample
constexpr std::int64_t kOpsTolerance = 256;

struct EdgeValue {
  Wide value = 0;
  std::int64_t time_ns = 0;
};

EdgeValue value_at(Counter counter, const CellEdge& edge, const Frame& frame) noexcept {
  const record::Value total = frame.total[counter];
  const record::Value root = frame.root[counter];
  const record::Value mark = mark_of(edge.marks, counter);
  if (!record::is_known(root) || !record::is_known(mark) ||
      (edge.near && root - mark > tolerance_of(counter))) {
    return {total, frame.time_ns};
  }
  return {Wide{total} - root + mark, edge.time_ns};
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

std::int64_t tolerance_of(Counter counter) noexcept {
  switch (counter) {
    case kCpuTime:
      return kCpuToleranceNs;
    case kIoReadOps:
    case kIoWriteOps:
      return kOpsTolerance;
    default:
      return kBytesTolerance;
  }
}

std::optional<Gain> gain_of(Counter counter, const CellSpan& span, const Frame* begin,
                            const Frame* end, std::int64_t restarted) noexcept {
  if (has_total(counter, begin) && has_total(counter, end)) {
    // The same sample at both edges tells only what the marks tell.
    const bool one_sample = begin->time_ns == end->time_ns;
    if (!one_sample ||
        (has_split(counter, span.begin, *begin) && has_split(counter, span.end, *end))) {
      const EdgeValue from = value_at(counter, span.begin, *begin);
      const EdgeValue to = value_at(counter, span.end, *end);
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
