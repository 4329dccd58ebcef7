#include "probe/limits.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "probe/cgroup_memory.hpp"

namespace probe {
namespace {

constexpr unsigned kReadsBetweenLooks = 10;
constexpr std::size_t kTextBytes = 8192;

}  // namespace

Limits::Limits(const Cgroups& cgroups) {
  const Group cpu = cgroups.find(Controller::kCpu);
  const Group memory = cgroups.find(Controller::kMemory);
  const Group pids = cgroups.find(Controller::kPids);
  if (cpu.unified) {
    add_chain(kCpu, Format::kMax, cpu, "cpu.max");
  } else {
    add_chain(kCpu, Format::kCfsQuota, cpu, "cpu.cfs_quota_us");
  }
  if (memory.unified) {
    add_chain(kMemory, Format::kAmount, memory, "memory.max");
    add_chain(kSwap, Format::kAmount, memory, "memory.swap.max");
  } else {
    memory_and_swap_ = true;
    add_chain(kMemory, Format::kAmount, memory, "memory.limit_in_bytes");
    // Where ancestors lie outside of what is mounted, only this tells of their limits.
    if (memory.there() && !memory.true_root)
      add(kMemory, Format::kMemoryStat, memory, "memory.stat");
    add_chain(kSwap, Format::kAmount, memory, "memory.memsw.limit_in_bytes");
  }
  add_chain(kPids, Format::kAmount, pids, "pids.max");

  for (auto& ceiling : ceilings_) open(ceiling);
  std::array<char, kTextBytes> buffer;
  read(buffer);
}

void Limits::add(Kind kind, Format format, const Group& group, const char* name) {
  Ceiling& ceiling = ceilings_.emplace_back();
  ceiling.kind = kind;
  ceiling.format = format;
  ceiling.group = group.path();
  ceiling.directory = group.directory();
  ceiling.path = ceiling.directory + "/" + name;
  if (format == Format::kCfsQuota) ceiling.period_path = ceiling.directory + "/cpu.cfs_period_us";
}

void Limits::add_chain(Kind kind, Format format, Group group, const char* name) {
  if (!group.there()) return;
  while (!group.is_root()) {
    add(kind, format, group, name);
    if (group.at_mount()) break;
    group.go_up();
  }
}

void Limits::open(Ceiling& ceiling) noexcept {
  if (ceiling.format == Format::kCfsQuota) {
    ceiling.period = base::File::try_open(ceiling.period_path.c_str(), O_RDONLY);
  }
  ceiling.file = base::File::try_open(ceiling.path.c_str(), O_RDONLY);
  if (ceiling.file.valid() || errno != ENOENT) return;
  // The group is there and its file isn't: the controller was switched off for it.
  if (::access(ceiling.directory.c_str(), F_OK) == 0) ceiling.amount = kNoLimit;
}

void Limits::read(Ceiling& ceiling, std::span<char> buffer) noexcept {
  if (!ceiling.file.valid()) return;
  const auto half = buffer.size() / 2;
  const auto text = read_control(ceiling.file, buffer.first(half));
  if (text.empty()) {  // ENODEV: the group, or its file, is gone
    ceiling.file.close();
    return;
  }
  std::int64_t amount = kNoLimit;
  switch (ceiling.format) {
    case Format::kMax:
      amount = parse_cpu_max(text).value_or(ceiling.amount);
      break;
    case Format::kAmount:
      amount = parse_limit(text).value_or(ceiling.amount);
      break;
    case Format::kCfsQuota:
      amount = parse_cfs_quota(text, read_control(ceiling.period, buffer.subspan(half)))
                   .value_or(ceiling.amount);
      break;
    case Format::kMemoryStat: {
      const record::Value limit = parse_memory_stat(text).limit_bytes;
      if (record::is_known(limit)) amount = limit;
      break;
    }
  }
  ceiling.amount = amount;
}

bool Limits::read(std::span<char> buffer) {
  const bool look = ++reads_ % kReadsBetweenLooks == 0;
  for (auto& ceiling : ceilings_) {
    if (look && !ceiling.file.valid()) open(ceiling);
    read(ceiling, buffer);
  }
  return take_smallest();
}

bool Limits::take_smallest() {
  std::array<const Ceiling*, 4> smallest{};
  for (const auto& ceiling : ceilings_) {
    const Ceiling*& best = smallest[ceiling.kind];
    if (ceiling.amount == kNoLimit) continue;
    if (best == nullptr || ceiling.amount < best->amount) best = &ceiling;
  }
  own_group_pids_ = kNoLimit;
  const auto own = std::ranges::find(ceilings_, kPids, &Ceiling::kind);
  if (own != ceilings_.end()) own_group_pids_ = own->amount;

  bool changed = false;
  for (const Kind kind : {kCpu, kMemory, kSwap, kPids}) {
    const Ceiling* best = smallest[kind];
    Limit& limit = limits_[kind];
    std::int64_t amount = best == nullptr ? kNoLimit : best->amount;
    if (kind == kSwap && memory_and_swap_ && best != nullptr) {
      const auto& memory = limits_[kMemory];
      amount = memory.there() ? std::max<std::int64_t>(amount - memory.amount, 0) : kNoLimit;
    }
    if (amount == kNoLimit) best = nullptr;
    const bool above = best != nullptr && best->format == Format::kMemoryStat;
    const bool same = amount == limit.amount && above == limit.above &&
                      (best == nullptr || best->directory == limit.directory);
    if (same) continue;
    limit = best == nullptr ? Limit() : Limit{amount, best->group, best->directory, above};
    changed = true;
  }
  return changed;
}

}  // namespace probe
