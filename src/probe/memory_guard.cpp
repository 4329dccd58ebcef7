#include "probe/memory_guard.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/clock.hpp"
#include "probe/cgroup_cpu.hpp"
#include "probe/cgroup_memory.hpp"
#include "probe/memory.hpp"

namespace probe {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kLeastNs = 1'000'000;
constexpr std::int64_t kMostNs = 100'000'000;
constexpr std::int64_t kBytesPerNs = 8;  // a core writes no faster

base::File open(const std::string& path) noexcept {
  return base::File::try_open(path.c_str(), O_RDONLY);
}

std::int64_t share(std::int64_t limit_bytes, double percent) noexcept {
  return static_cast<std::int64_t>(static_cast<double>(limit_bytes) * percent / 100);
}

}  // namespace

MemoryGuard::MemoryGuard(std::string root, pid_t pid)
    : root_(std::move(root)), cgroups_(root_, pid) {
  open_groups();
}

void MemoryGuard::open_groups() {
  ceilings_.clear();
  moves_ = cgroups_.moves();
  Group group = cgroups_.find(Controller::kMemory);
  while (group.there() && !group.is_root()) {
    const std::string directory = group.directory();
    Ceiling one;
    one.source = "the limit of control group " + group.path();
    one.limit_file = open(directory + (group.unified ? "/memory.max" : "/memory.limit_in_bytes"));
    one.usage_file =
        open(directory + (group.unified ? "/memory.current" : "/memory.usage_in_bytes"));
    one.stat_file = open(directory + "/memory.stat");
    if (one.usage_file.valid() && one.stat_file.valid()) ceilings_.push_back(std::move(one));
    if (group.at_mount()) {
      if (!group.unified && !ceilings_.empty()) {
        Ceiling above;
        above.source = "the limit of a control group above " + group.path();
        above.limit_file = open(directory + "/memory.stat");
        above.usage_file = open(directory + "/memory.usage_in_bytes");
        above.stat_file = open(directory + "/memory.stat");
        above.hidden = true;
        ceilings_.push_back(std::move(above));
      }
      break;
    }
    group.go_up();
  }
  Ceiling machine;
  machine.source = "the machine's memory";
  machine.usage_file = open(root_ + "/proc/meminfo");
  ceilings_.push_back(std::move(machine));
}

std::int64_t MemoryGuard::limit_of(const Ceiling& ceiling, std::span<char> buffer) noexcept {
  if (!ceiling.stat_file.valid()) {
    const auto info = parse_meminfo(base::read_text(ceiling.usage_file.fd(), buffer));
    return info ? info->total_bytes : kNoLimit;
  }
  const auto text = read_control(ceiling.limit_file, buffer);
  if (!ceiling.hidden) return parse_limit(text).value_or(kNoLimit);
  const record::Value limit = parse_memory_stat(text).limit_bytes;
  return record::is_known(limit) ? limit : kNoLimit;
}

void MemoryGuard::read_limits(double percent, bool all, std::span<char> buffer) noexcept {
  for (Ceiling& one : ceilings_) {
    const std::int64_t limit_bytes = limit_of(one, buffer);
    if (limit_bytes == one.limit_bytes && !all) continue;
    one.limit_bytes = limit_bytes;
    if (limit_bytes == kNoLimit) continue;
    one.mark_bytes = share(limit_bytes, percent);
    const auto use_bytes = use_of(one, one.mark_bytes, buffer);
    if (use_bytes && *use_bytes >= one.mark_bytes) {
      one.mark_bytes = *use_bytes + std::max<std::int64_t>(limit_bytes - *use_bytes, 0) / 2;
    }
  }
}

std::optional<std::int64_t> MemoryGuard::use_of(const Ceiling& ceiling, std::int64_t least_bytes,
                                                std::span<char> buffer) noexcept {
  if (!ceiling.stat_file.valid()) {
    const auto info = parse_meminfo(base::read_text(ceiling.usage_file.fd(), buffer));
    if (!info || !info->available_bytes) return std::nullopt;
    return info->total_bytes - *info->available_bytes;
  }
  const auto usage_bytes = parse_limit(read_control(ceiling.usage_file, buffer));
  if (!usage_bytes || *usage_bytes < least_bytes) return usage_bytes;
  const CgroupMemory memory = parse_memory_stat(read_control(ceiling.stat_file, buffer));
  if (!record::is_known(memory.cache_bytes)) return std::nullopt;
  const std::int64_t shared_bytes =
      record::is_known(memory.shared_bytes) ? memory.shared_bytes : memory.cache_bytes;
  return *usage_bytes - std::max<std::int64_t>(memory.cache_bytes - shared_bytes, 0);
}

std::int64_t MemoryGuard::room_bytes(std::span<char> buffer) const noexcept {
  std::int64_t least_bytes = kNoLimit;
  for (const Ceiling& one : ceilings_) {
    const std::int64_t limit_bytes = limit_of(one, buffer);
    const auto use_bytes = use_of(one, 0, buffer);
    if (limit_bytes == kNoLimit || !use_bytes) continue;
    least_bytes = std::min(least_bytes, std::max<std::int64_t>(limit_bytes - *use_bytes, 0));
  }
  return least_bytes;
}

void MemoryGuard::begin_cell(double percent, std::span<char> buffer) noexcept {
  fired_ = false;
  try {
    if (cgroups_.look(buffer) || cgroups_.moves() != moves_) open_groups();
  } catch (const std::exception&) {
    moves_ = cgroups_.moves() - 1;  // no memory for the new groups: at the next cell again
  }
  read_limits(percent, true, buffer);
  limits_ns_ = next_ns_ = base::monotonic_ns();
}

std::optional<record::NearLimit> MemoryGuard::look(double percent, std::int64_t now_ns,
                                                   std::span<char> buffer) noexcept {
  next_ns_ = now_ns + kMostNs;
  if (fired_) return std::nullopt;
  if (now_ns - limits_ns_ > kSecondNs) {
    limits_ns_ = now_ns;
    read_limits(percent, false, buffer);
  }
  for (const Ceiling& one : ceilings_) {
    if (one.limit_bytes == kNoLimit) continue;
    const auto use_bytes = use_of(one, one.mark_bytes, buffer);
    if (!use_bytes) continue;
    if (*use_bytes < one.mark_bytes) {
      const std::int64_t in_ns = (one.mark_bytes - *use_bytes) / kBytesPerNs;
      next_ns_ = std::min(next_ns_, now_ns + std::max(in_ns, kLeastNs));
      continue;
    }
    fired_ = true;
    try {
      return record::NearLimit{now_ns, one.source, *use_bytes, one.limit_bytes};
    } catch (const std::exception&) {
      return record::NearLimit{now_ns, {}, *use_bytes, one.limit_bytes};  // no memory for its name
    }
  }
  return std::nullopt;
}

}  // namespace probe
