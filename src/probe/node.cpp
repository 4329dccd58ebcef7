#include "probe/node.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/error.hpp"
#include "probe/cores.hpp"
#include "probe/cpu.hpp"
#include "probe/load.hpp"
#include "probe/memory.hpp"
#include "probe/scan.hpp"
#include "probe/storage.hpp"

namespace probe {
namespace {

using record::Kind;
using record::State;
using record::unknown;

// 2^62 ns are 146 years of one core: a node of 1024 cores has used them up in 52 days. So whole
// multiples are left out of the aggregate; the remainder lasts as long again.
constexpr std::int64_t kTurnTicks = (std::int64_t{1} << 62) / kTickNs;

}  // namespace

Node::Source Node::open(const std::string& root, const char* name, MissingList& missing,
                        std::initializer_list<std::string_view> metrics) {
  Source source;
  source.file = base::File::try_open((root + "/proc/" + name).c_str(), O_RDONLY);
  if (source.file.valid()) return source;
  if (errno == EACCES || errno == EPERM) source.state = State::kNotPermitted;
  const std::string reason =
      std::string("cannot open /proc/") + name + ": " + base::errno_text(errno);
  for (const auto metric : metrics) missing.say(metric, source.state, reason);
  return source;
}

Node::Node(const std::string& root, bool all, MissingList& missing)
    : stat_(open(root, "stat", missing, {"node.cpu_time_ns"})) {
  std::vector<char> buffer(1 << 16);
  // The line "intr" alone may be long; it grows with the devices.
  for (std::string_view text; stat_.file.valid();) {
    text = base::read_text(stat_.file.fd(), buffer);
    if (text.size() < buffer.size() || buffer.size() >= (1U << 23)) {
      buffer_bytes_ = text.size() + text.size() / 2;
      break;
    }
    buffer.resize(buffer.size() * 2);
  }
  buffer_bytes_ = std::max<std::size_t>(buffer_bytes_, 1 << 15);
  core_ticks_.assign(kMostCores, unknown(State::kVanished));
  read_cores(buffer);
  for (std::size_t core = 0; core < core_ticks_.size(); ++core) {
    if (record::is_known(core_ticks_[core])) cores_.push_back(core);
  }
  core_ticks_.resize(cores_.empty() ? 0 : cores_.back() + 1);
  cores_before_.assign(cores_.size(), unknown(State::kNotYet));
  base_ticks_ = std::max<std::int64_t>(busy_ticks_, 0) / kTurnTicks * kTurnTicks;
  if (!all) return;
  memory_ = open(root, "meminfo", missing, {"node.memory_bytes"});
  vmstat_ = open(root, "vmstat", missing, {"node.storage_read_bytes", "node.storage_write_bytes"});
  load_ = open(root, "loadavg", missing, {"node.threads"});
  for (const char* name :
       {"node.io_read_bytes", "node.io_write_bytes", "node.io_read_ops", "node.io_write_ops"}) {
    missing.say(name, State::kNotSupported,
                "the kernel counts reads and writes of each process, not of the node");
  }
}

std::vector<record::Column> Node::columns() const {
  std::vector<record::Column> columns;
  columns.reserve(cores_.size() + 8);
  columns.push_back({"node.cpu_time_ns", Kind::kCounter});
  for (const std::size_t core : cores_) {
    columns.push_back({"node.core" + std::to_string(core) + ".cpu_time_ns", Kind::kCounter});
  }
  columns.push_back({"node.storage_read_bytes", Kind::kCounter});
  columns.push_back({"node.storage_write_bytes", Kind::kCounter});
  columns.push_back({"node.memory_bytes", Kind::kGauge});
  columns.push_back({"node.threads", Kind::kGauge});
  columns.push_back({"node.processes", Kind::kGauge});
  columns.push_back({"node.capacity_millicores", Kind::kGauge});
  columns.push_back({"node.capacity_memory_bytes", Kind::kGauge});
  return columns;
}

record::Value Node::never_falling(record::Value& before, record::Value now) noexcept {
  if (!record::is_known(now)) return now;
  before = std::max(before, now);
  return before;
}

void Node::read_cores(std::span<char> buffer) noexcept {
  const auto text = base::read_text(stat_.file.fd(), buffer);
  if (text.size() + text.size() / 4 > buffer_bytes_) buffer_bytes_ = 2 * text.size();
  const auto stat = parse_stat(text, core_ticks_);
  forks_ = stat ? stat->forks : std::nullopt;
  busy_ticks_ = stat ? stat->busy_ticks : unknown(stat_.state);
}

void Node::fill(std::span<record::Value> values, const Capacity& capacity, record::Value processes,
                std::span<char> buffer) noexcept {
  if (values.size() != cores_.size() + 8) return;
  std::size_t at = 0;
  const auto put = [&](record::Value value) { values[at++] = value; };
  const auto known = [](const std::optional<std::int64_t>& value, const Source& source) {
    return value.value_or(unknown(source.state));
  };

  const bool read = record::is_known(busy_ticks_);
  put(never_falling(
      busy_before_,
      read ? std::max<std::int64_t>(busy_ticks_ - base_ticks_, 0) * kTickNs : busy_ticks_));
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    const record::Value ticks = core_ticks_[cores_[i]];
    put(never_falling(cores_before_[i], record::is_known(ticks) ? ticks * kTickNs : ticks));
  }
  const auto storage = parse_vmstat(base::read_text(vmstat_.file.fd(), buffer));
  put(never_falling(read_before_, known(storage.read_bytes, vmstat_)));
  put(never_falling(write_before_, known(storage.write_bytes, vmstat_)));
  const auto memory = parse_meminfo(base::read_text(memory_.file.fd(), buffer));
  put(memory && memory->available_bytes
          ? std::max<std::int64_t>(memory->total_bytes - *memory->available_bytes, 0)
          : unknown(memory_.state));
  put(known(parse_loadavg(base::read_text(load_.file.fd(), buffer)), load_));
  put(processes);
  const auto online = static_cast<std::int64_t>(capacity.online().size());
  put(online > 0 ? online * 1000 : unknown(State::kNotSupported));
  put(capacity.memory_bytes() > 0 ? capacity.memory_bytes() : unknown(State::kNotSupported));
}

}  // namespace probe
