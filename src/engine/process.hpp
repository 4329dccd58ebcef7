#pragma once
// An engine as the kernel sees it: started with posix_spawn, an ordinary child in a process group
// of its own, watched by pidfd. Nothing here blocks but wait().

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace engine {

// How a process ended.
struct Ended {
  enum class How {
    kExited,   // with `status`
    kKilled,   // by `signal`; `core`: a core dump was written
    kUnknown,  // somebody else in this process reaped it: os.wait(), a handler of SIGCHLD
  } how = How::kUnknown;
  int status = 0;
  int signal = 0;
  bool core = false;
};

// "exited with status 3", "killed by signal 9 (Killed)", "ended, status unknown: reaped by somebody
// else".
std::string describe(const Ended& ended);

struct Reading {
  enum class Status { kBytes, kEmpty, kEnd } status = Status::kEmpty;
  std::size_t size = 0;
};

// Reads what a non-blocking pipe has, at most the buffer. kEnd: every writer has closed it (or the
// descriptor is none). A launcher's daemon may keep it open: that isn't waited for.
Reading read_available(int fd, std::span<char> buffer) noexcept;

class Process {
 public:
  struct Start {
    std::vector<std::string> command = {};      // command[0] is looked up in this process's PATH
    std::vector<std::string> environment = {};  // "NAME=value"
    std::string directory = {};                 // "" : this process's own
    int channel_fd = -1;                        // < 0: the engine comes to a named channel
  };

  // In the new process: /dev/null on 0, pipes on 1 and 2, the channel on 3 (closed without one), a
  // pidfd of this process on 4 (closed where the system has none), nothing above; its own process
  // group, default signal handlers and mask. Throws base::Error{"cannot start", command[0], …}.
  static Process start(const Start& start);

  Process() noexcept = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  // Kills the whole group and reaps the process. In a process forked from this one it does neither.
  ~Process() { finish(); }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  // Readable when it has ended; -1 where the system has none (before Linux 5.3).
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.fd(); }
  // Non-blocking: what launcher and engine print.
  [[nodiscard]] int output_fd() const noexcept { return output_.fd(); }
  [[nodiscard]] int errors_fd() const noexcept { return errors_.fd(); }

  // Empty when it hasn't ended by the deadline (base::monotonic_ns()). The process stays a zombie
  // until this object goes: its number, and that of its group, is nobody else's meanwhile. Its
  // status is kept, so what others reap later changes nothing.
  std::optional<Ended> wait(std::int64_t deadline_ns);

  // SIGINT, SIGTERM, SIGKILL to the process group: also to what the cell started in it, also when
  // the process itself has ended. False when nobody was reached: the group is empty, or the
  // process was reaped by somebody else (before Linux 6.9, which can name a group by pidfd, its
  // number may then belong to others), or this is a forked copy of the process that started it.
  bool interrupt() noexcept;
  bool terminate() noexcept;
  bool kill() noexcept;

 private:
  bool signal_group(int signal) noexcept;
  void finish() noexcept;

  pid_t pid_ = -1;
  pid_t parent_ = ::getpid();
  base::File pidfd_;
  base::File output_;
  base::File errors_;
  std::optional<Ended> ended_;
};

// The engine's side: a thread with all signals blocked that waits until the process behind `pidfd`
// (the kernel, descriptor 4) has ended and then sends SIGKILL to its own process group. It ends
// without doing so when the descriptor was closed by the cell. Not inherited by forked children.
// False when there can't be a thread, or it is no pidfd.
bool watch_parent(base::File pidfd) noexcept;

}  // namespace engine
