#include "transfer/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string_view>

#include "base/error.hpp"
#include "base/failpoint.hpp"
#include "base/memory.hpp"
#include "base/process.hpp"
#include "base/units.hpp"
#include "transfer/copy.hpp"
#include "transfer/memory_writer.hpp"
#include "transfer/pages.hpp"

namespace transfer {
namespace {

constexpr std::string_view kVerbPhrase = "cannot carry the namespace";
constexpr std::size_t kLargeBytes = 64U << 10;  // from here on pages of their own
constexpr std::size_t kSmallAlignment = 64;     // a cache line; enough for every vector instruction
constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

std::string in_words(std::size_t bytes) { return base::bytes_text(static_cast<double>(bytes)); }

// Where the file system knows no O_TMPFILE (NFS, FUSE): a name that nobody can guess, for a moment.
base::File make_unlinked(const std::string& directory) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) return {};
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "/.jumper-%016llx",
                static_cast<unsigned long long>(number));
  const std::string path = directory + name.data();
  base::File file =
      base::File::try_open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (file.valid() && ::unlink(path.c_str()) != 0) return {};
  return file;
}

base::File make_nameless(const std::string& directory) {
  // With O_EXCL nobody can give it a name later.
  base::File file =
      base::fails_at("tmpfile")
          ? base::File()
          : base::File::try_open(directory.c_str(), O_TMPFILE | O_EXCL | O_RDWR, 0600);
  // Kernels and file systems that know no O_TMPFILE see a directory opened for writing.
  if (!file.valid() && (errno == EOPNOTSUPP || errno == EISDIR)) return make_unlinked(directory);
  return file;
}

// The whole pages in it; slices begin at a page when their buffer does.
void discard(std::span<const std::byte> bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = round_up(begin, page_bytes());
  const std::uintptr_t last = round_down(begin + bytes.size(), page_bytes());
  if (first >= last) return;
  auto* whole = const_cast<std::byte*>(bytes.data()) + (first - begin);
  ::madvise(whole, last - first, MADV_DONTNEED);
}

}  // namespace

std::size_t available_memory_bytes() {
  constexpr std::string_view kKey = "\nMemAvailable:";
  const auto text = base::read_small_file("/proc/meminfo");
  const std::size_t at = text ? text->find(kKey) : std::string::npos;
  if (at == std::string::npos) return std::numeric_limits<std::size_t>::max();
  const std::size_t digits = text->find_first_not_of(' ', at + kKey.size());
  std::size_t kib = std::numeric_limits<std::size_t>::max() >> 10U;
  if (digits != std::string::npos) {
    std::from_chars(text->data() + digits, text->data() + text->size(), kib);
  }
  return kib << 10U;
}

SegmentWriter::SegmentWriter(Transport transport, std::string directory)
    : SegmentWriter(transport, std::move(directory), available_memory_bytes()) {}

SegmentWriter::SegmentWriter(Transport transport, std::string directory, std::size_t most_bytes)
    : transport_(transport), directory_(std::move(directory)), most_bytes_(most_bytes) {}

BufferPlace SegmentWriter::add(std::span<const std::byte> buffer) {
  const std::size_t alignment = buffer.size() >= kLargeBytes ? page_bytes() : kSmallAlignment;
  const BufferPlace place{round_up(size_bytes_, alignment), buffer.size()};
  size_bytes_ = place.offset_bytes + place.size_bytes;
  buffers_.push_back({buffer, place.offset_bytes, false});
  return place;
}

BufferPlace SegmentWriter::add_and_discard(std::span<const std::byte> buffer) {
  const BufferPlace place = add(buffer);
  buffers_.back().discarded = discards_ = true;
  return place;
}

std::string SegmentWriter::object() const {
  if (transport_ == Transport::kMemfd) return in_words(size_bytes_) + " in memory";
  return in_words(size_bytes_) + " in a file in " + directory_;
}

std::string SegmentWriter::remedy(int code) const {
  const bool in_memory = transport_ == Transport::kMemfd;
  switch (code) {
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
      return in_memory ? "delete what you don't need any more, or carry it in a file"
                       : "delete what you don't need any more, or choose another directory";
    case EFBIG:
      return "raise the limit on the size of files (ulimit -f)";
    case EFAULT:
      return "a buffer can't be read: was a file shortened that is mapped?";
    default:
      return {};
  }
}

base::File SegmentWriter::make_file() const {
  // Asked beforehand: the system would send SIGXFSZ, which ends a process that doesn't ignore it.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      size_bytes_ > limit.rlim_cur) {
    throw base::Error(kVerbPhrase, object(), EFBIG, remedy(EFBIG));
  }
  const bool in_memory = transport_ == Transport::kMemfd;
  if (in_memory && size_bytes_ > most_bytes_) {
    throw base::Error(kVerbPhrase, object(), "only " + in_words(most_bytes_) + " are free",
                      remedy(ENOMEM));
  }
  base::File file = in_memory ? base::make_memfd("jumper-segment") : make_nameless(directory_);
  if (!file.valid()) throw base::Error(kVerbPhrase, object(), errno, remedy(errno));
  return file;
}

void SegmentWriter::reserve(const base::File& file) const {
  if (size_bytes_ == 0) return;  // EINVAL
  const int code = base::fails_at("reserve")
                       ? errno
                       : ::posix_fallocate(file.fd(), 0, static_cast<off_t>(size_bytes_));
  if (code != 0) throw base::Error(kVerbPhrase, object(), code, remedy(code));
}

int SegmentWriter::copy_to(const base::File& file, int threads, bool discarded) const {
  std::vector<std::size_t> sizes_bytes;
  sizes_bytes.reserve(buffers_.size());
  for (const Buffer& buffer : buffers_) {
    sizes_bytes.push_back(buffer.discarded == discarded ? buffer.bytes.size() : 0);
  }
  // Not memcpy to a shared mapping, whose pages are faulted in one by one: by pwrite 1 GiB takes
  // 0.43 s (by two threads, too: the system lets one write at a time), by a mapping 0.78 s (0.58
  // s): `jumper_bench --benchmark_filter=segment_by`. A source that is gone is EFAULT here, SIGBUS
  // there.
  MemoryWriter memory;
  return for_slices(sizes_bytes, threads, [&](std::size_t i, std::size_t begin, std::size_t size) {
    const auto bytes = buffers_[i].bytes.subspan(begin, size);
    const auto offset = static_cast<off_t>(buffers_[i].offset_bytes + begin);
    if (transport_ == Transport::kMemfd) {
      if (const int code = memory.write_at(file.fd(), bytes, offset); code != 0) return code;
    } else {
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (!base::write_at(file.fd(), text, offset)) return errno;
    }
    if (discarded) discard(bytes);
    return 0;
  });
}

base::File SegmentWriter::finish(int threads) {
  // A timer's signals (profilers) would interrupt the reservation again and again.
  const base::SignalsBlocked blocked;
  base::File file = make_file();
  if (!discards_) {
    reserve(file);
  } else if (::ftruncate(file.fd(), static_cast<off_t>(size_bytes_)) != 0) {
    throw base::Error(kVerbPhrase, object(), errno, remedy(errno));
  }
  int code = copy_to(file, threads, false);
  // Last: until then any buffer may lie in what is discarded.
  if (code == 0 && discards_) code = copy_to(file, threads, true);
  if (code != 0) throw base::Error(kVerbPhrase, object(), code, remedy(code));
  if (transport_ == Transport::kMemfd && ::fcntl(file.fd(), F_ADD_SEALS, kSeals) != 0) {
    throw base::Error(kVerbPhrase, object(), errno);
  }
  return file;
}

}  // namespace transfer
