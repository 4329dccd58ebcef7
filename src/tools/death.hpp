#pragma once
// How a process ended, asked by a process of the same user that isn't its parent.

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "record/records.hpp"

namespace tools {

// After the pidfd has said that it ended. First while it is a zombie: field 52 (exit_code) of its
// stat, proc_pid_stat(5). Once reaped: PIDFD_GET_INFO with PIDFD_INFO_EXIT (Linux 6.15,
// include/uapi/linux/pidfd.h). Else kUnknown. `pidfd` may be -1.
record::End end_of(pid_t pid, std::int64_t start_ticks, int pidfd);

// From a wait status as in waitpid(2).
record::End end_from_wait_status(int status);

// The exit_code field of a stat text of a zombie that began then; -1 for anything else.
int zombie_wait_status(std::string_view stat, std::int64_t start_ticks) noexcept;

}  // namespace tools
