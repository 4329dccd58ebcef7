#include "probe/drm_rounds.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/process.hpp"

namespace probe {
namespace {

constexpr std::int64_t kPauseTimes = 300;

void run_once(const std::function<void()>& round) noexcept {
  try {
    round();
  } catch (const std::exception&) {
    return;  // no memory: what was read before grows old, and is then unknown
  }
}

}  // namespace

DrmRounds::DrmRounds(std::function<void()> round, std::int64_t pause_ns)
    : state_(std::make_shared<State>()) {
  state_->round = std::move(round);
  state_->pause_ns = pause_ns;
  const base::SignalsBlocked blocked;
  try {
    std::thread([state = state_] { run(state); }).detach();
    running_ = true;
  } catch (const std::exception&) {
    running_ = false;  // no more threads for this user (EAGAIN), no memory
  }
}

void DrmRounds::tell_to_end() noexcept {
  if (told_ns_ != 0) return;
  told_ns_ = base::monotonic_ns();
  const std::lock_guard lock(state_->lock);
  state_->stop = true;
  state_->changed.notify_all();
}

DrmRounds::~DrmRounds() {
  tell_to_end();
  if (!running_) return;
  const std::int64_t rest_ns = told_ns_ + kPatienceNs - base::monotonic_ns();
  std::unique_lock lock(state_->lock);
  state_->changed.wait_for(lock, std::chrono::nanoseconds(std::max<std::int64_t>(rest_ns, 0)),
                           [this] { return state_->ended; });
}

void DrmRounds::run(const std::shared_ptr<State>& state) noexcept {
  std::unique_lock lock(state->lock);
  while (!state->stop) {
    lock.unlock();
    const std::int64_t begin_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    run_once(state->round);
    const std::int64_t worked_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    lock.lock();
    const std::int64_t pause_ns =
        std::clamp(kPauseTimes * worked_ns, state->pause_ns, kMostPauseTimes * state->pause_ns);
    state->changed.wait_for(lock, std::chrono::nanoseconds(pause_ns), [&] { return state->stop; });
  }
  state->ended = true;
  state->changed.notify_all();
}

}  // namespace probe
