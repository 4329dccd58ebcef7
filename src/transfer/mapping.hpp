#pragma once
// A segment as the receiver sees it: mapped privately, so it may be written to and nobody else sees
// that; the system copies what is written, page by page. What was written to can be asked later,
// also in a forked child (which sees the parent's writes before the fork and its own).

#include <cstddef>
#include <span>
#include <vector>

#include "base/file.hpp"
#include "transfer/pages.hpp"

namespace transfer {

class Mapping {
 public:
  // Maps the whole segment. Throws Error{"cannot map carried data"} for what is neither a memfd
  // sealed against writing and resizing nor a regular file (pipes, directories, devices, memfds
  // that can still be sealed), and when there is no address space. A regular file has no seals: who
  // holds it can shorten it, and a look at the lost pages is a SIGBUS then, so take one only from
  // a process that is trusted as much as this one. The commit limit isn't charged.
  static Mapping open(base::File file);

  Mapping() noexcept = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { unmap(); }  // views end with it

  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }

  // The bytes from `offset_bytes` on. Throws Error{"cannot read carried data"} when they don't lie
  // in the segment.
  [[nodiscard]] std::span<std::byte> view(std::size_t offset_bytes, std::size_t size_bytes) const;

  // What differs from the file, of these bytes: ranges of whole pages (cut at both ends of what was
  // asked for), ascending, neighbours merged. A page is looked at only when it was written to;
  // where `pagemap` can't tell (/proc hidden, EPERM), every page is, at the cost of reading the
  // file (0.2 s a GB instead of 1 ms). Writes under way in other threads are seen or not. Throws
  // Error for bytes outside the segment and for EIO of the file. Source: /proc/PID/pagemap, bits
  // 61-63 (Documentation/admin-guide/mm/pagemap.rst).
  [[nodiscard]] std::vector<Range> changed(std::size_t offset_bytes, std::size_t size_bytes,
                                           const char* pagemap = "/proc/self/pagemap") const;

  // Gives memory of the whole pages in the range back to the system. What was written there is
  // lost; they read as the file again. Throws as `view`.
  void discard(Range range);

 private:
  void unmap() noexcept;
  [[nodiscard]] std::vector<Range> written(Range pages, const char* pagemap) const;
  void add_different(Range part, std::span<char> buffer, std::vector<Range>& found) const;

  base::File file_;
  std::byte* begin_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace transfer
