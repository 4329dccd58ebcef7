#pragma once
// Waiting as Python code may: without the GIL, and so that Python's signal handlers run soon. The
// system may hand a signal to any thread, so whoever waits looks every 100 ms, and at EINTR.

#include <nanobind/nanobind.h>
#include <poll.h>

#include <cstdint>
#include <optional>
#include <span>

namespace bind {

// A point of base::monotonic_ns(). None, or more than a human life: engine::kNoDeadline. What is
// negative or not a number has passed.
std::int64_t deadline_after(std::optional<double> seconds);

// The end of a slice: the deadline, or 100 ms from now.
std::int64_t slice_until(std::int64_t deadline_ns);

// Runs Python's signal handlers, in the main thread. Throws what they raise.
void run_signal_handlers();

// poll(2) until something is ready (true) or the deadline has passed. With the GIL held; released
// while it waits. Throws what a signal's handler raises. Entries below 0 are skipped.
bool wait_ready(std::span<pollfd> entries, std::int64_t deadline_ns);

// Destroys what takes the core a while to destroy, without the GIL.
template <typename Owned>
void end_without_gil(Owned& owned) {
  const nanobind::gil_scoped_release released;
  const Owned ending = std::move(owned);
}

}  // namespace bind
