#pragma once
// A segment: many buffers in one anonymous file, which goes to another process as a descriptor.
// Written by the kernel on the way there, by the engine on the way back.
//
//   0            buffer 0 | buffer 1 … | … buffer n                      size
//                buffers below 64 KiB begin at a multiple of 64 bytes, others at a page
//
// Where each lies says the stream (one of the buffers, or a message), not the segment.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace transfer {

enum class Transport {
  kMemfd,  // sealed: nobody can change it afterwards
  kFile,   // without a name, in a directory: slower, takes no memory for long; it has no seals
};

struct BufferPlace {
  std::size_t offset_bytes = 0;
  std::size_t size_bytes = 0;
  bool operator==(const BufferPlace&) const = default;
};

// MemAvailable of /proc/meminfo: what can be taken without swapping. The largest number where that
// can't be read. Limits of a cgroup aren't looked at.
std::size_t available_memory_bytes();

class SegmentWriter {
 public:
  // `directory` is for kFile. kMemfd takes `most_bytes` at most: the system knows no limit for a
  // memfd but the OOM killer, so the caller says what is free (its cgroup's limit included).
  explicit SegmentWriter(Transport transport, std::string directory = {});
  SegmentWriter(Transport transport, std::string directory, std::size_t most_bytes);

  // Says where the buffer will lie. It is read in `finish` only and must stay until then. Costs
  // nothing.
  BufferPlace add(std::span<const std::byte> buffer);

  // The same for a part of a private mapping of a file that nobody needs afterwards: while it is
  // copied its pages are given back to the system, so that both never are in memory at once.
  BufferPlace add_and_discard(std::span<const std::byte> buffer);

  // So far, in the file.
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }

  // Makes the file (close-on-exec) at its final size, so that a lack of space shows before anything
  // is copied (not where something is discarded), copies all buffers with `threads` threads and
  // seals a memfd. Once. All signals are blocked meanwhile. Throws Error{"cannot carry the
  // namespace"}: ENOSPC, EDQUOT, ENOMEM, EFBIG
  // (`ulimit -f`), EFAULT (a buffer isn't there any more, e.g. a mapped file that was shortened:
  // no SIGBUS); nothing is left then. Some 0.4 s a GB.
  base::File finish(int threads);

 private:
  struct Buffer {
    std::span<const std::byte> bytes;
    std::size_t offset_bytes;
    bool discarded;
  };

  [[nodiscard]] base::File make_file() const;
  void reserve(const base::File& file) const;
  [[nodiscard]] int copy_to(const base::File& file, int threads, bool discarded) const;
  [[nodiscard]] std::string object() const;
  [[nodiscard]] std::string remedy(int code) const;

  Transport transport_;
  std::string directory_;
  std::size_t most_bytes_;
  std::vector<Buffer> buffers_;
  std::size_t size_bytes_ = 0;
  bool discards_ = false;
};

}  // namespace transfer
