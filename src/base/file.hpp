#pragma once
// An owned file descriptor, and the reads and writes that JUmPER needs. Every descriptor is
// close-on-exec. EINTR is retried everywhere but in close() (Linux has closed by then).

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace base {

// Calls a system call again while signals interrupt it.
template <typename Call>
auto retry_interrupted(Call call) noexcept {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

class File {
 public:
  File() noexcept = default;
  explicit File(int fd) noexcept : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }

  // open(2) with O_CLOEXEC added; an invalid File on failure, errno says why.
  static File try_open(const char* path, int flags, mode_t mode = 0) noexcept;
  static File try_open_at(int directory_fd, const char* path, int flags, mode_t mode = 0) noexcept;
  // The same, but throws Error{verb_phrase, path, errno}.
  static File open(const std::string& path, int flags, mode_t mode = 0,
                   std::string_view verb_phrase = "cannot open");

  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void close() noexcept;
  // A second descriptor of the same open file, close-on-exec; invalid on failure.
  [[nodiscard]] File duplicate() const noexcept;

 private:
  int fd_ = -1;
};

// Fills `buffer` from `offset` until it is full or the file ends. Returns the bytes read, or
// nullopt with errno set. For /proc and /sys files (their stat size is a lie): offset 0 makes the
// kernel write the text anew. Allocates nothing.
std::optional<std::size_t> read_at(int fd, std::span<char> buffer, off_t offset) noexcept;

// The same as text, e.g. for parsers; an empty view on failure (errno set). The view is into
// `buffer`. A text as long as the buffer may be cut.
std::string_view read_text(int fd, std::span<char> buffer) noexcept;

// Writes all of `bytes` at `offset`; false with errno set when that failed (bytes may then be
// there in part; ENOSPC, EDQUOT, EFBIG, EIO).
bool write_at(int fd, std::string_view bytes, off_t offset) noexcept;

// Writes all of `bytes` at the file's position (pipes, stdout).
bool write_all(int fd, std::string_view bytes) noexcept;

// A whole small file, `limit` bytes at most, for what is read once (not on a tick): opens, reads,
// closes. nullopt with errno set on failure.
std::optional<std::string> read_small_file(const std::string& path, std::size_t limit = 1 << 16);

// Which file a descriptor means. User code may close all descriptors of the process and get the
// same numbers for others: what is long open is compared before it is written to.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
std::optional<FileIdentity> identity_of(int fd) noexcept;

// Bytes in a regular file, or nullopt with errno set.
std::optional<std::size_t> file_size(int fd) noexcept;

// Whether somebody wrote to it less than a second ago, by the wall clock: what looks broken at its
// end may be under way. False when that can't be told.
bool written_lately(int fd) noexcept;

}  // namespace base
