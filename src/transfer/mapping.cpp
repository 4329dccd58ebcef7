#include "transfer/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/memory.hpp"

namespace transfer {
namespace {

constexpr std::string_view kCannotMap = "cannot map carried data";
constexpr std::string_view kCannotRead = "cannot read carried data";
constexpr std::size_t kBlockBytes = 1U << 20;     // compared at once; fits the second-level cache
constexpr std::size_t kEntriesAtOnce = 1U << 13;  // of the pagemap: 64 KiB, 32 MiB of memory

// Memfds that lack their seals; files in a tmpfs carry F_SEAL_SEAL alone, others know no seals.
bool lacks_seals(int fd) noexcept {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && seals != F_SEAL_SEAL && !base::is_sealed(fd);
}

// A page of the file, mapped: bit 61. Written to: a page of our own, in memory (63) or swapped out
// (62).
bool is_own_page(std::uint64_t entry) noexcept {
  constexpr std::uint64_t kFileOrShared = 1ULL << 61U;
  constexpr std::uint64_t kSwapped = 1ULL << 62U;
  constexpr std::uint64_t kPresent = 1ULL << 63U;
  return (entry & kFileOrShared) == 0 && (entry & (kSwapped | kPresent)) != 0;
}

bool read_entries(int fd, std::uintptr_t address, std::span<std::uint64_t> entries) noexcept {
  const auto offset = static_cast<off_t>(address / page_bytes() * sizeof(std::uint64_t));
  const std::span<char> bytes(reinterpret_cast<char*>(entries.data()), entries.size_bytes());
  return base::read_at(fd, bytes, offset) == bytes.size();
}

// Whether it tells of a page that was surely written to: one of the stack.
bool tells_the_truth(int fd) noexcept {
  std::uint64_t entry = 0;
  return read_entries(fd, reinterpret_cast<std::uintptr_t>(&entry), {&entry, 1}) &&
         is_own_page(entry);
}

void add(std::vector<Range>& ranges, Range range) {
  if (!ranges.empty() &&
      ranges.back().offset_bytes + ranges.back().size_bytes == range.offset_bytes) {
    ranges.back().size_bytes += range.size_bytes;
  } else {
    ranges.push_back(range);
  }
}

}  // namespace

Mapping Mapping::open(base::File file) {
  struct stat status{};
  if (::fstat(file.fd(), &status) != 0) throw base::Error(kCannotMap, "", errno);
  if (!S_ISREG(status.st_mode)) throw base::Error(kCannotMap, "", "it is not a regular file");
  if (lacks_seals(file.fd())) {
    throw base::Error(kCannotMap, "", "it is not sealed, so it could change while it is read");
  }
  Mapping mapping;
  mapping.size_bytes_ = static_cast<std::size_t>(status.st_size);
  mapping.file_ = std::move(file);
  if (mapping.size_bytes_ == 0) return mapping;
  // NORESERVE: most pages will never be written to, so they are no promise of memory.
  void* begin = ::mmap(nullptr, mapping.size_bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_NORESERVE, mapping.file_.fd(), 0);
  if (begin == MAP_FAILED) throw base::Error(kCannotMap, "", errno);
  mapping.begin_ = static_cast<std::byte*>(begin);
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : file_(std::move(other.file_)),
      begin_(std::exchange(other.begin_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    unmap();
    file_ = std::move(other.file_);
    begin_ = std::exchange(other.begin_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

void Mapping::unmap() noexcept {
  if (begin_ != nullptr) ::munmap(begin_, size_bytes_);
}

std::span<std::byte> Mapping::view(std::size_t offset_bytes, std::size_t size_bytes) const {
  if (offset_bytes > size_bytes_ || size_bytes > size_bytes_ - offset_bytes) {
    throw base::Error(kCannotRead, "",
                      std::to_string(size_bytes) + " bytes from " + std::to_string(offset_bytes) +
                          " on aren't in a segment of " + std::to_string(size_bytes_));
  }
  return {begin_ + offset_bytes, size_bytes};
}

std::vector<Range> Mapping::changed(std::size_t offset_bytes, std::size_t size_bytes,
                                    const char* pagemap) const {
  const std::span<std::byte> asked = view(offset_bytes, size_bytes);
  std::vector<Range> found;
  if (asked.empty()) return found;
  std::vector<char> buffer(std::min(kBlockBytes, round_up(size_bytes, page_bytes())));
  const std::size_t end = offset_bytes + size_bytes;
  const std::size_t first_page = round_down(offset_bytes, page_bytes());
  for (const Range& range :
       written({first_page, round_up(end, page_bytes()) - first_page}, pagemap)) {
    const std::size_t range_end = std::min(range.offset_bytes + range.size_bytes, end);
    // Blocks end at multiples of their size, so never within a page.
    for (std::size_t at = std::max(range.offset_bytes, offset_bytes); at < range_end;) {
      const std::size_t next = std::min(round_down(at, page_bytes()) + buffer.size(), range_end);
      add_different({at, next - at}, buffer, found);
      at = next;
    }
  }
  return found;
}

// Pages of our own among these, or all of them where that can't be told.
std::vector<Range> Mapping::written(Range pages, const char* pagemap) const {
  const base::File file = base::File::try_open(pagemap, O_RDONLY);
  if (!file.valid() || !tells_the_truth(file.fd())) return {pages};
  std::vector<Range> found;
  std::vector<std::uint64_t> entries(std::min(kEntriesAtOnce, pages.size_bytes / page_bytes()));
  const auto begin = reinterpret_cast<std::uintptr_t>(begin_);
  const std::size_t end = pages.offset_bytes + pages.size_bytes;
  for (std::size_t at = pages.offset_bytes; at < end; at += entries.size() * page_bytes()) {
    entries.resize(std::min(entries.size(), (end - at) / page_bytes()));
    if (!read_entries(file.fd(), begin + at, entries)) return {pages};
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (is_own_page(entries[i])) add(found, {at + i * page_bytes(), page_bytes()});
    }
  }
  return found;
}

// `part` is no longer than the buffer and crosses no page that another part has.
void Mapping::add_different(Range part, std::span<char> buffer, std::vector<Range>& found) const {
  const std::span<char> there = buffer.first(part.size_bytes);
  const auto count = base::read_at(file_.fd(), there, static_cast<off_t>(part.offset_bytes));
  if (!count) throw base::Error(kCannotRead, "", errno);
  if (*count != there.size()) throw base::Error(kCannotRead, "", "the file was shortened");
  const std::size_t end = part.offset_bytes + part.size_bytes;
  for (std::size_t at = part.offset_bytes; at < end;) {
    const std::size_t next = std::min(round_down(at, page_bytes()) + page_bytes(), end);
    if (std::memcmp(begin_ + at, there.data() + (at - part.offset_bytes), next - at) != 0) {
      add(found, {at, next - at});
    }
    at = next;
  }
}

void Mapping::discard(Range range) {
  const std::span<std::byte> bytes = view(range.offset_bytes, range.size_bytes);
  const std::size_t end = range.offset_bytes + range.size_bytes;
  const std::size_t first = round_up(range.offset_bytes, page_bytes());
  // Nothing lies behind the segment's end, so its last page may go with it.
  const std::size_t last =
      round_down(end == size_bytes_ ? round_up(end, page_bytes()) : end, page_bytes());
  if (bytes.empty() || first >= last) return;
  if (::madvise(begin_ + first, last - first, MADV_DONTNEED) != 0) {
    throw base::Error("cannot give back carried data", "", errno);  // locked in memory (mlockall)
  }
}

}  // namespace transfer
