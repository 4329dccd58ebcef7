#include "probe/gpu_exchange.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <limits>
#include <utility>

#include "base/clock.hpp"

namespace probe {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// futex(2): std::atomic's own wait has no time-out.
std::uint32_t* address_of(std::atomic<std::uint32_t>& word) noexcept {
  static_assert(sizeof word == sizeof(std::uint32_t));
  return reinterpret_cast<std::uint32_t*>(&word);
}

void wait_while(std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::int64_t most_ns) noexcept {
  const timespec most{most_ns / kSecondNs, most_ns % kSecondNs};
  ::syscall(SYS_futex, address_of(word), FUTEX_WAIT_PRIVATE, value, most_ns < 0 ? nullptr : &most,
            nullptr, 0);
}

void wake(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, address_of(word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace

void GpuExchange::wish(std::uint32_t wishes) noexcept {
  // While the other thread is busy, what it should do next is only noted: no system call.
  const std::uint32_t before = wishes_.fetch_or(wishes, std::memory_order_acq_rel);
  if (before == 0 || (wishes & kStop) != 0) wake(wishes_);
}

std::uint32_t GpuExchange::wait(std::int64_t most_ns) noexcept {
  if (wishes_.load(std::memory_order_acquire) == 0) wait_while(wishes_, 0, most_ns);
  return wishes_.fetch_and(kStop, std::memory_order_acq_rel);
}

bool GpuExchange::sleep(std::int64_t most_ns) noexcept {
  const std::int64_t until_ns = base::monotonic_ns() + most_ns;
  for (;;) {
    const std::uint32_t wishes = wishes_.load(std::memory_order_acquire);
    if ((wishes & kStop) != 0) return true;
    const std::int64_t rest_ns = until_ns - base::monotonic_ns();
    if (rest_ns <= 0) return false;
    wait_while(wishes_, wishes, rest_ns);
  }
}

const GpuRound& GpuExchange::newest() noexcept {
  if ((between_.load(std::memory_order_relaxed) & kNew) != 0) {
    front_ = between_.exchange(front_, std::memory_order_acq_rel) & ~kNew;
  }
  return rounds_[front_];
}

void GpuExchange::publish() noexcept {
  back_ = between_.exchange(back_ | kNew, std::memory_order_acq_rel) & ~kNew;
}

bool GpuExchange::is_silent(std::int64_t now_ns) const noexcept {
  const std::int64_t until_ns = back_until_ns_.load(std::memory_order_relaxed);
  return until_ns != 0 && now_ns > until_ns;
}

void GpuExchange::set_processes(std::span<const pid_t> pids) noexcept {
  const std::unique_lock lock(inbox_, std::try_to_lock);
  if (!lock) return;
  try {
    pids_.assign(pids.begin(), pids.end());
  } catch (const std::exception&) {
    return;  // no memory: the list before
  }
  pids_set_ = true;
}

void GpuExchange::set_visible(std::optional<std::string> list) {
  {
    const std::lock_guard lock(inbox_);
    visible_ = std::move(list);
    visible_set_ = true;
  }
  wish(kInbox);
}

std::optional<std::vector<pid_t>> GpuExchange::take_processes() {
  const std::lock_guard lock(inbox_);
  if (!std::exchange(pids_set_, false)) return std::nullopt;
  return pids_;
}

std::optional<std::optional<std::string>> GpuExchange::take_visible() {
  const std::lock_guard lock(inbox_);
  if (!std::exchange(visible_set_, false)) return std::nullopt;
  return visible_;
}

bool GpuExchange::await_end(std::int64_t most_ns) noexcept {
  const std::int64_t until_ns = base::monotonic_ns() + most_ns;
  while (!ended()) {
    const std::int64_t rest_ns = until_ns - base::monotonic_ns();
    if (rest_ns <= 0) return false;
    wait_while(ended_, 0, rest_ns);
  }
  return true;
}

void GpuExchange::end(bool failed) noexcept {
  expect_back(0);
  ended_.store(failed ? kFailed : kEnded, std::memory_order_release);
  wake(ended_);
}

}  // namespace probe
