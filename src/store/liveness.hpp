#pragma once
// Whether a recording without an end may still be written: a reader that opened it by name asks.

#include <cstdint>
#include <string_view>

#include "record/records.hpp"

namespace store {

// True on the boot that recorded it, when the root process is there (pid + start time) or the last
// sample is at most 5 s old (then it may run in another pid namespace). Three small files are read.
bool may_still_run(const record::Machine& machine, std::int64_t last_sample_ns);

// Field 22 (starttime) of the text of /proc/PID/stat, or -1. See proc_pid_stat(5):
//   4242 (a) b) S 1 4242 4242 0 -1 4194560 … 20 0 1 0 5283 …
std::int64_t start_ticks(std::string_view stat) noexcept;

}  // namespace store
