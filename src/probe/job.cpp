#include "probe/job.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>

#include "base/clock.hpp"
#include "probe/cgroup_cpu.hpp"
#include "probe/cgroup_memory.hpp"
#include "probe/job_columns.hpp"
#include "probe/pressure.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

// Usually 5 us of CPU, but the kernel adds up the counters of all cores when enough has changed.
// Where that takes longer, memory.stat is read at full turns only.
constexpr std::int64_t kDearNs = 200'000;

// Why an open file gave nothing.
record::Value unread(int error) noexcept {
  if (error == ENODEV) return unknown(State::kVanished);
  if (error == EACCES || error == EPERM) return unknown(State::kNotPermitted);
  return unknown(State::kNotSupported);
}

}  // namespace

void Job::read(std::span<record::Value> values, const Turn& turn) noexcept {
  if (values.size() != kJobColumns) return;
  if (move_ != capacity_.cgroups().moves()) {
    try {
      for (auto& counter : counters_) counter.go_on_elsewhere();
      open();
    } catch (const std::exception&) {
      move_ = capacity_.cgroups().moves() - 1;  // no memory: again at the next turn
    }
  }
  if (in_job_) read_all(turn.buffer, turn.full);
  std::ranges::copy(values_, values.begin());
}

void Job::read_all(std::span<char> buffer, bool full) noexcept {
  if (full) follow_throttling();
  read_cpu(buffer);
  read_memory(buffer, full);
  if (full) {
    read_memory_seldom(buffer);
    read_storage(buffer);
    read_pressure(buffer);
    values_[kJobThreads] = number(threads_, buffer);
  }
  const Usable& usable = capacity_.usable();
  const auto known = [](std::int64_t amount) {
    return amount > 0 ? amount : unknown(State::kNotSupported);
  };
  values_[kJobCapacityMillicores] = known(usable.millicores);
  values_[kJobCapacityMemory] = known(usable.memory_bytes);
}

void Job::put_counter(JobColumn column, record::Value now) noexcept {
  values_[column] = counters_[column].next(now);
}

record::Value Job::number(const Part& part, std::span<char> buffer) noexcept {
  if (!part.file.valid()) return unknown(part.state);
  const auto text = read_control(part.file, buffer);
  if (text.empty()) return unread(errno);
  return Scanner(text).number().value_or(unknown(State::kNotSupported));
}

void Job::read_cpu(std::span<char> buffer) noexcept {
  CgroupCpu cpu;
  if (!unified_cpu_) {
    put_counter(kJobCpuTime, number(usage_, buffer));
  } else if (usage_.file.valid()) {
    const auto text = read_control(usage_.file, buffer);
    cpu = parse_cpu_stat(text);
    put_counter(kJobCpuTime, text.empty() ? unread(errno) : cpu.usage_ns);
  } else {
    put_counter(kJobCpuTime, unknown(usage_.state));
  }
  if (throttled_.file.valid()) cpu = parse_cpu_stat(read_control(throttled_.file, buffer));
  put_counter(kJobThrottled, cpu.throttled_ns);
  put_counter(kJobThrottledPeriods, cpu.throttled_periods);
}

void Job::read_memory(std::span<char> buffer, bool full) noexcept {
  if (memory_stat_.file.valid() && (full || !stat_is_dear_)) {
    const std::int64_t begin_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const auto text = read_control(memory_stat_.file, buffer);
    const record::Value failed = text.empty() ? unread(errno) : unknown(State::kNotSupported);
    const CgroupMemory stat = parse_memory_stat(text);
    stat_is_dear_ = base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns > kDearNs;
    const auto known = [&](record::Value value) {
      return record::is_known(value) ? value : failed;
    };
    inactive_file_bytes_ = known(stat.inactive_file_bytes);
    values_[kJobMemoryCache] = known(stat.cache_bytes);
    values_[kJobMemoryAnonymous] =
        record::is_known(stat.anonymous_bytes)
            ? stat.anonymous_bytes + std::max<record::Value>(stat.shared_bytes, 0)
            : failed;
    if (!unified_memory_) values_[kJobSwap] = known(stat.swap_bytes);
  }
  record::Value bytes = number(memory_, buffer);
  record::Value is_upper_bound = bytes;
  if (record::is_known(bytes)) {
    const bool exact = record::is_known(inactive_file_bytes_);
    if (exact) bytes = std::max<record::Value>(bytes - inactive_file_bytes_, 0);
    is_upper_bound = exact ? 0 : 1;
  }
  values_[kJobMemory] = bytes;
  values_[kJobMemoryIsUpperBound] = is_upper_bound;
}

void Job::read_memory_seldom(std::span<char> buffer) noexcept {
  values_[kJobMemoryPeak] = number(memory_peak_, buffer);
  if (unified_memory_) values_[kJobSwap] = number(swap_, buffer);
  record::Value kills = unknown(State::kNotSupported);
  for (const auto& part : kills_) {
    const record::Value more =
        part.file.valid() ? parse_oom_kills(read_control(part.file, buffer)) : unknown(part.state);
    if (record::is_known(more)) kills = std::max<record::Value>(kills, 0) + more;
  }
  put_counter(kJobOomKills, kills);
}

void Job::read_storage(std::span<char> buffer) noexcept {
  constexpr std::array kStorage{kJobStorageReadBytes, kJobStorageWriteBytes, kJobStorageReadOps,
                                kJobStorageWriteOps};
  const bool read = io_.read(buffer);
  for (std::size_t i = 0; i < kStorage.size(); ++i) {
    put_counter(kStorage[i], read ? io_.total(i) : unknown(State::kNotSupported));
  }
}

void Job::read_pressure(std::span<char> buffer) noexcept {
  const auto totals = [&](const Part& part) {
    if (!part.file.valid()) return PressureTotals{unknown(part.state), unknown(part.state)};
    return parse_pressure(read_control(part.file, buffer));
  };
  const PressureTotals cpu = totals(pressure_[0]);
  put_counter(kJobPressureCpuSome, cpu.some_ns);
  const PressureTotals memory = totals(pressure_[1]);
  put_counter(kJobPressureMemorySome, memory.some_ns);
  put_counter(kJobPressureMemoryFull, memory.full_ns);
  const PressureTotals io = totals(pressure_[2]);
  put_counter(kJobPressureIoSome, io.some_ns);
  put_counter(kJobPressureIoFull, io.full_ns);
}

}  // namespace probe
