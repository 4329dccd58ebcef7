#pragma once
// Places where a test build can be told to fail or to die. JUMPER_FAILPOINTS (the environment) is
// a comma-separated list of NAME=ACTION@N[+]: at the N-th pass through NAME (from 1; with + at
// every pass from then on) ACTION is done: an errno number (the call fails with it), `kill`
// (SIGKILL to this process) or `stop` (SIGSTOP). In other builds this is nothing at all.

#include <string_view>

namespace base {

#ifdef JUMPER_FAILPOINTS
// True when the pass shall fail; errno is then set. Thread-safe.
bool fails_at(std::string_view name) noexcept;
#else
constexpr bool fails_at(std::string_view /*name*/) noexcept { return false; }
#endif

}  // namespace base
