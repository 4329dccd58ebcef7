#include "store/level_track.hpp"

#include <algorithm>
#include <limits>

namespace store {
namespace {

constexpr double kMillicores = 1000;

}  // namespace

LevelTrack::LevelTrack(std::string_view name, const CellSpan& span, const GapTable& gaps,
                       double cores)
    : name_(name),
      span_(span),
      cores_(cores),
      cpu_(gaps, rate_rule(name, kCounterNames[kCpuTime])),
      memory_(gaps),
      measured_memory_(gaps),
      processes_(gaps),
      threads_(gaps),
      millicores_(gaps, GaugeSeries::Between::kFirst) {
  last_.total.fill(record::unknown(record::State::kNotYet));
}

void LevelTrack::add(const Frame& frame) {
  seen_ = true;
  any_known_ = any_known_ || std::ranges::any_of(frame.total, record::is_known) ||
               record::is_known(frame.gauge[kMemory]) || record::is_known(frame.gauge[kProcesses]);
  if (frame.time_ns <= span_.begin.time_ns) before_begin_ = frame;
  if (frame.time_ns <= span_.end.time_ns) before_end_ = frame;
  add_memory(frame);
  processes_.add(frame.time_ns, frame.gauge[kProcesses]);
  threads_.add(frame.time_ns, frame.gauge[kThreads]);
  const record::Value millicores = frame.gauge[kCapacityMillicores];
  if (millicores > 0) millicores_.add(frame.time_ns, millicores);
  if (frame.gauge[kCapacityMemory] > 0) capacity_memory_ = frame.gauge[kCapacityMemory];

  // Counters: only between the samples that stand for the edges.
  if (frame.time_ns < span_.begin.sample_ns || frame.time_ns > span_.end.sample_ns) return;
  for (std::size_t i = 0; i < kCounters; ++i) {
    const record::Value now = frame.total[i];
    record::Value& last = last_.total[i];
    if (record::is_known(now) && record::is_known(last) &&
        last - now > slack_of(static_cast<Counter>(i))) {
      constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
      fallen_[i] += std::min(last - now, kMost - fallen_[i]);
    }
    if (record::is_known(now) || !record::is_known(last)) last = now;
  }
  const double cores = millicores > 0 ? static_cast<double>(millicores) / kMillicores : cores_;
  cpu_.add(frame.time_ns, frame.total[kCpuTime], cores);
  if (frame.time_ns == span_.begin.sample_ns) begin_ = frame;
  if (frame.time_ns == span_.end.sample_ns) end_ = frame;
}

void LevelTrack::add_memory(const Frame& frame) {
  const record::Value memory = frame.gauge[kMemory];
  memory_.add(frame.time_ns, memory);
  if (frame.gauge[kMemoryIsUpperBound] > 0) {
    memory_upper_bound_ = true;
    return;
  }
  measured_memory_.add(frame.time_ns, memory);
  const record::Value resident = frame.gauge[kResident];
  if (frame.gauge[kProcesses] == 1 && record::is_known(memory) && resident >= memory) {
    sharing_bytes_ = resident - memory;
  }
}

std::int64_t LevelTrack::slack_of(Counter counter) const noexcept {
  return is_process() ? rounding_of(counter) : 0;
}

double LevelTrack::mean_cores() const noexcept {
  const auto mean = millicores_.mean();
  return mean ? *mean / kMillicores : cores_;
}

}  // namespace store
