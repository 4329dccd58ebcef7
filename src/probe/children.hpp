#pragma once
// /proc/PID/task/TID/children: the processes that a thread has started. Cheap for small trees; not
// reliable while children end (proc(5): one may be left out), so it only ever adds processes.

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "probe/process_files.hpp"
#include "probe/scan.hpp"

namespace probe {

// Parses a `children` file: pids, each followed by a blank. Calls visit(pid) for each; what isn't a
// pid is stepped over. (proc(5); Documentation/filesystems/proc.rst, 3.7; Linux 3.5, built with
// CONFIG_PROC_CHILDREN.)
//
//   5860 5861 5877
template <typename Visit>
void parse_children(std::string_view text, Visit visit) {
  for (Scanner words(text); !words.done();) {
    const auto pid = words.number();
    if (pid && *pid > 0 && *pid <= INT32_MAX) visit(static_cast<pid_t>(*pid));
  }
}

// The children files of all threads of one process, kept open.
class ChildrenFiles {
 public:
  // Appends the children of every thread of `pid`, which has `threads` threads, to `children`.
  // `buffer` holds one file's text. False: no such files here, no descriptors, or too much to
  // be worth it; then the caller lists /proc instead. Allocates when threads or children appear.
  bool read(const ProcDirectory& proc, pid_t pid, std::int64_t threads, std::span<char> buffer,
            std::vector<pid_t>& children);
  void close() noexcept { threads_.clear(); }

 private:
  struct Thread {
    pid_t tid = 0;
    ProcessFile file;
    bool listed = false;
  };
  bool list_threads(const ProcDirectory& proc, pid_t pid);
  std::size_t read_kept(const ProcDirectory& proc, pid_t pid, std::span<char> buffer,
                        std::vector<pid_t>& children);

  std::vector<Thread> threads_;
};

}  // namespace probe
