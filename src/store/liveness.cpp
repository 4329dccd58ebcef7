#include "store/liveness.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/clock.hpp"
#include "base/file.hpp"

namespace store {
namespace {

constexpr std::int64_t kFreshNs = 5'000'000'000;
constexpr int kStartTimeField = 22;
constexpr int kFirstFieldAfterName = 3;

// Field 3: a zombie has ended, whoever has yet to reap it.
bool is_zombie(std::string_view stat) noexcept {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == stat.npos || name_end + 2 >= stat.size()) return false;
  const char state = stat[name_end + 2];
  return state == 'Z' || state == 'X';
}

}  // namespace

std::int64_t start_ticks(std::string_view stat) noexcept {
  // The name (field 2) may hold spaces and brackets: it ends at the last one.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return -1;
  stat.remove_prefix(name_end + 1);
  for (int field = kFirstFieldAfterName; field <= kStartTimeField; ++field) {
    const std::size_t space = stat.find(' ');
    if (space == stat.npos) return -1;
    stat.remove_prefix(space + 1);
  }
  std::int64_t ticks = -1;
  const auto parsed = std::from_chars(stat.data(), stat.data() + stat.size(), ticks);
  return parsed.ec == std::errc() ? ticks : -1;
}

bool may_still_run(const record::Machine& machine, std::int64_t last_sample_ns) {
  auto boot_id = base::read_small_file("/proc/sys/kernel/random/boot_id");
  if (!boot_id) return false;
  while (!boot_id->empty() && boot_id->back() == '\n') boot_id->pop_back();
  if (*boot_id != machine.boot_id) return false;
  const std::int64_t now_ns = base::monotonic_ns();
  if (last_sample_ns > 0 && last_sample_ns <= now_ns && now_ns - last_sample_ns <= kFreshNs) {
    return true;
  }
  const auto stat = base::read_small_file(fmt::format("/proc/{}/stat", machine.root_pid));
  return stat && !is_zombie(*stat) && machine.root_start_ticks >= 0 &&
         start_ticks(*stat) == machine.root_start_ticks;
}

}  // namespace store
