#pragma once
// The texts that tell whether a process was killed for want of memory, and by whose limit.

#include <string>
#include <string_view>

#include "record/value.hpp"

namespace probe {

// Counters of a group; unknown(kNotSupported) where the text has no such line.
struct OomEvents {
  record::Value ooms = record::unknown(record::State::kNotSupported);   // its own limit was hit
  record::Value kills = record::unknown(record::State::kNotSupported);  // processes of it
  record::Value group_kills = record::unknown(record::State::kNotSupported);  // times all of it
};

// Parses memory.events and memory.events.local of version 2
// (Documentation/admin-guide/cgroup-v2.rst), memory.oom_control of version 1 (cgroup-v1/memory.rst)
// and /proc/vmstat (mm/vmstat.c), the last two of which have only "oom_kill".
//
//   oom 1                     oom_kill_disable 0
//   oom_kill 1                under_oom 0
//   oom_group_kill 0          oom_kill 1
OomEvents parse_oom_events(std::string_view text) noexcept;

// True when the process of this /proc/PID/status can't live on: it has no memory any more, or a
// SIGKILL is pending (bit 8 of SigPnd, of any thread's or ShdPnd, of the process). Empty is true:
// it was reaped. proc_pid_status(5):
//
//   State:  R (running)
//   VmRSS:     5004 kB
//   SigPnd: 0000000000000100
bool is_dying(std::string_view status) noexcept;

// An extended attribute that systemd-oomd counts in, in digits (systemd-oomd.service(8), the code
// in src/oom/oomd-util.c): user.oomd_ooms "1", user.oomd_kill "12". 0 for anything else.
record::Value parse_oomd_mark(std::string_view text) noexcept;

// Whose limit the one of the group at `path` is, for people: "that of step 0 of the Slurm job 42",
// "that of the control group /a". Of a path that Slurm didn't make, "" when the group is the
// process's `own`.
std::string limit_owner(std::string_view path, bool own);

}  // namespace probe
