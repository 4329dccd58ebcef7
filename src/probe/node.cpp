#include "probe/node.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "probe/cores.hpp"
#include "probe/cpu.hpp"
#include "probe/memory.hpp"
#include "probe/never_falling.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

using record::Kind;
using record::State;
using record::unknown;
using record::Value;

// 2^62 ns are 146 years of one core: a node of 1024 cores has used them up in 52 days. So whole
// multiples are left out of the aggregate; the remainder lasts as long again.
constexpr std::int64_t kTurnTicks = (std::int64_t{1} << 62) / kTickNs;

struct Metric {
  std::string_view name;
  Kind kind;
};

// Those behind the cores.
constexpr std::array kMetrics{
    Metric{"node.storage_read_bytes", Kind::kCounter},
    Metric{"node.storage_write_bytes", Kind::kCounter},
    Metric{"node.memory_bytes", Kind::kGauge},
    Metric{"node.threads", Kind::kGauge},
    Metric{"node.processes", Kind::kGauge},
    Metric{"node.capacity_millicores", Kind::kGauge},
    Metric{"node.capacity_memory_bytes", Kind::kGauge},
    Metric{"node.storage_read_ops", Kind::kCounter},
    Metric{"node.storage_write_ops", Kind::kCounter},
    Metric{"node.storage_busy_ns", Kind::kCounter},
    Metric{"node.context_switches", Kind::kCounter},
    Metric{"node.threads_running", Kind::kGauge},
    Metric{"node.load_1min_milli", Kind::kGauge},
    Metric{"node.memory_cache_bytes", Kind::kGauge},
    Metric{"node.swap_bytes", Kind::kGauge},
    Metric{"node.capacity_swap_bytes", Kind::kGauge},
    Metric{"node.page_faults", Kind::kCounter},
    Metric{"node.major_page_faults", Kind::kCounter},
    Metric{"node.swap_in_bytes", Kind::kCounter},
    Metric{"node.swap_out_bytes", Kind::kCounter},
    Metric{"node.cpu_steal_ns", Kind::kCounter},
};

Value times(Value value, std::int64_t factor) noexcept {
  if (!record::is_known(value)) return value;
  return value > kMostNumber / factor ? kMostNumber : value * factor;
}

}  // namespace

Node::Node(const std::string& root, bool all, MissingList& missing) : stat_(root, "/proc/stat") {
  stat_.say_missing(missing, {"node.cpu_time_ns", "node.cpu_steal_ns", "node.context_switches",
                              "node.threads_running"});
  std::vector<char> buffer(1 << 16);
  measure_stat(buffer);
  core_ticks_.assign(kMostCores, unknown(State::kVanished));
  read_cores(buffer);
  for (std::size_t core = 0; core < core_ticks_.size(); ++core) {
    if (record::is_known(core_ticks_[core])) cores_.push_back(core);
  }
  core_ticks_.resize(cores_.empty() ? 0 : cores_.back() + 1);
  cores_before_.assign(cores_.size(), unknown(State::kNotYet));
  base_ticks_ = std::max<std::int64_t>(busy_ticks_, 0) / kTurnTicks * kTurnTicks;
  if (!all) return;
  memory_ = KernelFile(root, "/proc/meminfo");
  memory_.say_missing(missing, {"node.memory_bytes", "node.memory_cache_bytes", "node.swap_bytes",
                                "node.capacity_swap_bytes"});
  load_ = KernelFile(root, "/proc/loadavg");
  load_.say_missing(missing, {"node.threads", "node.load_1min_milli"});
  vmstat_ = KernelFile(root, "/proc/vmstat");
  vmstat_.say_missing(missing, {"node.page_faults", "node.major_page_faults", "node.swap_in_bytes",
                                "node.swap_out_bytes"});
  const Value none = unknown(vmstat_.state());
  faults_ = {none, none, none, none, none, none};
  disks_.emplace(root);
  if (!disks_->available()) {
    for (const auto* name :
         {"node.storage_read_ops", "node.storage_write_ops", "node.storage_busy_ns"}) {
      missing.say(name, disks_->state(), disks_->reason());
    }
    vmstat_.say_missing(missing, {"node.storage_read_bytes", "node.storage_write_bytes"});
  }
  for (const char* name :
       {"node.io_read_bytes", "node.io_write_bytes", "node.io_read_ops", "node.io_write_ops"}) {
    missing.say(name, State::kNotSupported, "counted by process only");
  }
}

// The line "intr" alone may be long; it grows with the devices.
void Node::measure_stat(std::vector<char>& buffer) {
  while (stat_.valid()) {
    const std::string_view text = base::read_text(stat_.fd(), buffer);
    if (text.size() < buffer.size() || buffer.size() >= (1U << 23)) {
      buffer_bytes_ = text.size() + text.size() / 2;
      break;
    }
    buffer.resize(buffer.size() * 2);
  }
  buffer_bytes_ = std::max<std::size_t>(buffer_bytes_, 1 << 15);
}

std::vector<record::Column> Node::columns() const {
  std::vector<record::Column> columns;
  columns.reserve(1 + cores_.size() + kMetrics.size());
  columns.push_back({"node.cpu_time_ns", Kind::kCounter});
  for (const std::size_t core : cores_) {
    columns.push_back({"node.core" + std::to_string(core) + ".cpu_time_ns", Kind::kCounter});
  }
  for (const auto& metric : kMetrics) columns.push_back({std::string(metric.name), metric.kind});
  return columns;
}

void Node::read_cores(std::span<char> buffer) noexcept {
  const auto text = base::read_text(stat_.fd(), buffer);
  if (text.size() + text.size() / 4 > buffer_bytes_) buffer_bytes_ = 2 * text.size();
  const auto stat = parse_stat(text, core_ticks_);
  forks_ = stat ? stat->forks : std::nullopt;
  busy_ticks_ = stat ? stat->busy_ticks : unknown(stat_.state());
  steal_ticks_ = stat ? stat->steal_ticks : unknown(stat_.state());
  switches_ = stat ? stat->context_switches : unknown(stat_.state());
  running_ = stat ? stat->threads_running : unknown(stat_.state());
}

void Node::read_vmstat(std::span<char> buffer) noexcept {
  const Vmstat now = parse_vmstat(vmstat_.read_lines(buffer));
  never_falling(faults_.read_bytes, now.read_bytes);
  never_falling(faults_.write_bytes, now.write_bytes);
  never_falling(faults_.page_faults, now.page_faults);
  never_falling(faults_.major_page_faults, now.major_page_faults);
  never_falling(faults_.swap_in_pages, now.swap_in_pages);
  never_falling(faults_.swap_out_pages, now.swap_out_pages);
}

std::array<Value, kDiskCounts> Node::read_storage(const Turn& turn) noexcept {
  if (!disks_ || !disks_->available()) {
    const Value none = unknown(disks_ ? disks_->state() : State::kNotSupported);
    return {faults_.read_bytes, faults_.write_bytes, none, none, none};
  }
  if (disks_->read(turn.buffer, turn.now_ns)) return disks_->totals();
  std::array<Value, kDiskCounts> values{};
  values.fill(unknown(State::kNotYet));
  return values;
}

void Node::fill(std::span<Value> values, const Capacity& capacity, Value processes,
                const Turn& turn) noexcept {
  if (values.size() != 1 + cores_.size() + kMetrics.size()) return;
  std::size_t at = 0;
  const auto put = [&](Value value) { values[at++] = value; };

  // Idle cores' counters are read without a lock, and a core that comes back may begin anew.
  const bool read = record::is_known(busy_ticks_);
  put(never_falling(
      busy_before_,
      read ? times(std::max<std::int64_t>(busy_ticks_ - base_ticks_, 0), kTickNs) : busy_ticks_));
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    put(never_falling(cores_before_[i], times(core_ticks_[cores_[i]], kTickNs)));
  }

  if (turn.full || !disks_ || !disks_->available()) read_vmstat(turn.buffer);
  const auto storage = read_storage(turn);
  const auto memory = parse_meminfo(memory_.read_lines(turn.buffer));
  const Value no_memory = unknown(memory_.state());
  if (turn.full) load_now_ = parse_loadavg(load_.read_lines(turn.buffer));
  const Value no_load = unknown(load_.state());

  put(storage[kDiskReadBytes]);
  put(storage[kDiskWriteBytes]);
  memory_bytes_ = memory && memory->available_bytes
                      ? std::max<std::int64_t>(memory->total_bytes - *memory->available_bytes, 0)
                      : no_memory;
  put(memory_bytes_);
  put(load_now_ ? load_now_->threads : no_load);
  put(processes);
  const auto online = static_cast<std::int64_t>(capacity.online().size());
  put(online > 0 ? online * 1000 : unknown(State::kNotSupported));
  put(capacity.memory_bytes() > 0 ? capacity.memory_bytes() : unknown(State::kNotSupported));

  put(storage[kDiskReadOps]);
  put(storage[kDiskWriteOps]);
  put(storage[kDiskBusyNs]);
  put(never_falling(switches_before_, switches_));
  put(running_);
  put(load_now_ ? load_now_->load_1min_milli : no_load);
  put(memory ? memory->cache_bytes : no_memory);
  put(memory ? memory->swap_used_bytes : no_memory);
  put(memory ? memory->swap_total_bytes : no_memory);
  put(faults_.page_faults);
  put(faults_.major_page_faults);
  const auto page_bytes = static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  put(times(faults_.swap_in_pages, page_bytes));
  put(times(faults_.swap_out_pages, page_bytes));
  put(never_falling(steal_before_, times(steal_ticks_, kTickNs)));
}

}  // namespace probe
