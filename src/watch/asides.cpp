#include "watch/asides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/file.hpp"
#include "store/liveness.hpp"

namespace watch {
namespace {

// -1: there is none.
std::int64_t start_of(std::int64_t pid) {
  const auto stat = base::read_small_file(fmt::format("/proc/{}/stat", pid));
  return stat ? store::start_ticks(*stat) : -1;
}

}  // namespace

bool Asides::set(pid_t pid, bool apart) {
  const std::int64_t start_ticks = start_of(pid);
  if (start_ticks < 0) return false;
  std::erase_if(list_, [&](const Aside& one) {
    return one.process.pid == pid || start_of(one.process.pid) != one.process.start_ticks;
  });
  list_.push_back({record::Apart{pid, start_ticks, apart}, false});
  return true;
}

bool Asides::has_unsent() const noexcept {
  return std::ranges::any_of(list_, [](const Aside& one) { return !one.sent; });
}

void Asides::forget_sent() {
  std::erase_if(list_, [](const Aside& one) { return !one.process.apart; });
  for (Aside& one : list_) one.sent = false;
}

bool Asides::send(const std::function<base::SendResult(const record::Message&)>& send) {
  for (Aside& one : list_) {
    if (one.sent) continue;
    const base::SendResult result = send(one.process);
    if (result == base::SendResult::kFull) return false;
    one.sent = result == base::SendResult::kSent;
    if (!one.sent) return true;  // the sampler has ended: another one hears it
  }
  return true;
}

}  // namespace watch
