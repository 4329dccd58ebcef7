#pragma once
// The counters of the process we are in, at a cell's edge.

#include <sys/types.h>

#include "base/file.hpp"
#include "record/records.hpp"

namespace probe {

// The kernel's own counters, read by the kernel itself at a cell's edge. 6 us, twice that with cold
// caches. In any thread, one at a time. Two descriptors are kept open, on files of this very
// process: after a fork() in the user's code the child must not use it (the caller sees to that).
// User code may close all descriptors, and then open others with the same numbers: each read first
// looks whether they are still the files they were, else it leaves them alone and opens its own
// anew. What can't be read is unknown.
class EdgeReader {
 public:
  EdgeReader() noexcept;
  EdgeReader(const EdgeReader&) = delete;
  EdgeReader& operator=(const EdgeReader&) = delete;
  ~EdgeReader();

  record::EdgeCounters read() noexcept;

 private:
  class Watched {
   public:
    explicit Watched(const char* path) noexcept : path_(path) {}
    // Our descriptor, opened (again) if need be; -1 when that fails.
    int fd() noexcept;
    void close() noexcept;

   private:
    [[nodiscard]] bool still_ours() const noexcept;
    const char* path_;
    base::File file_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
  };

  Watched io_{"/proc/self/io"};
  Watched status_{"/proc/self/status"};
};

}  // namespace probe
