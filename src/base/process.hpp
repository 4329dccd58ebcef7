#pragma once
// Processes: their CPU clocks, their end, and a child that nobody in this process can notice.

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace base {

// CPU time (user + system, all threads, ended ones included) of a process in ns; -1 with errno
// set when it is gone. 0.2 us. Clocks go by number: the caller checks the start time.
// Source: clock_getcpuclockid(3).
std::int64_t process_cpu_time_ns(pid_t pid) noexcept;

// A descriptor that becomes readable when the process has ended (pidfd_open(2), Linux 5.3), or an
// invalid File: older kernel, refused by seccomp, or no such process (errno says which).
File open_pidfd(pid_t pid) noexcept;

// True when the process behind the pidfd has ended. Doesn't block.
bool has_ended(int pidfd) noexcept;

// SIGKILL by pidfd: never hits a process that took over the number. False when it is gone already.
bool kill_by_pidfd(int pidfd) noexcept;

// Blocks all signals in the calling thread for as long as it lives. A thread made meanwhile keeps
// them blocked, so it never takes one that belongs to the process's other threads.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

struct HiddenChild {
  pid_t pid = -1;
  File pidfd;  // close-on-exec; invalid where the system has none
};

// Starts `program` with `arguments` (argv[0] included) so that this process can't see it as a
// child: not through wait(), SIGCHLD, its process group or a listing of its children. In the new
// process: its own session, /dev/null on 0-2, `descriptors[i]` on 3+i and nothing above, default
// signal handlers and mask, `/` as its directory. Two nested clones that share this process's
// memory until exec, so it costs the same for a kernel of any size (about 1 ms). All signals are
// blocked in the calling thread meanwhile. Throws Error{"cannot start", program, errno}.
HiddenChild start_hidden(const std::string& program, const std::vector<std::string>& arguments,
                         std::span<const int> descriptors);

}  // namespace base
