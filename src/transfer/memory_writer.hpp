#pragma once
// Writes to files in memory that the system doesn't count as input and output of this process.
// By write(2) it would (wchar in /proc/PID/io, see proc_pid_io(5)), and a cell that is carried to
// another process would seem to have written all its variables.

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace transfer {

class MemoryWriter {
 public:
  MemoryWriter();
  MemoryWriter(const MemoryWriter&) = delete;
  MemoryWriter& operator=(const MemoryWriter&) = delete;
  ~MemoryWriter();

  // 0, or an errno value; EFAULT for a source that can't be read. By vmsplice(2) and splice(2),
  // which need 1.1 times the CPU of pwrite(2); by that where they are refused. From any thread.
  int write_at(int fd, std::span<const std::byte> bytes, off_t offset);

 private:
  struct Pipe;
  std::unique_ptr<Pipe> take();

  std::mutex mutex_;
  std::vector<std::unique_ptr<Pipe>> idle_;
};

}  // namespace transfer
