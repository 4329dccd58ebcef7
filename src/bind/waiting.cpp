#include "bind/waiting.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "engine/deadline.hpp"

namespace nb = nanobind;

namespace bind {

std::int64_t deadline_after(std::optional<double> seconds) {
  constexpr double kMost_s = 3e9;  // what fits in 64 bits as nanoseconds
  if (!seconds || *seconds > kMost_s) return engine::kNoDeadline;
  return *seconds > 0 ? engine::in_seconds(*seconds) : 0;
}

std::int64_t slice_until(std::int64_t deadline_ns) {
  constexpr double kSlice_s = 0.1;
  return std::min(deadline_ns, engine::in_seconds(kSlice_s));
}

void run_signal_handlers() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

bool wait_ready(std::span<pollfd> entries, std::int64_t deadline_ns) {
  for (;;) {
    int ready = 0;
    {
      const nb::gil_scoped_release released;
      ready = ::poll(entries.data(), static_cast<nfds_t>(entries.size()),
                     engine::poll_ms(slice_until(deadline_ns)));
    }
    if (ready > 0) return true;
    run_signal_handlers();
    if (base::monotonic_ns() >= deadline_ns) return false;
  }
}

}  // namespace bind
