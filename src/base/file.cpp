#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failpoint.hpp"

namespace base {
namespace {

constexpr std::size_t kUsualBytes = 16U << 10;  // a small file has fewer

}  // namespace

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

File File::try_open(const char* path, int flags, mode_t mode) noexcept {
  return try_open_at(AT_FDCWD, path, flags, mode);
}

File File::try_open_at(int directory_fd, const char* path, int flags, mode_t mode) noexcept {
  if (fails_at("open")) return {};
  return File(
      retry_interrupted([&] { return ::openat(directory_fd, path, flags | O_CLOEXEC, mode); }));
}

File File::open(const std::string& path, int flags, mode_t mode, std::string_view verb_phrase) {
  File file = try_open(path.c_str(), flags, mode);
  if (!file.valid()) throw Error(verb_phrase, path, errno);
  return file;
}

void File::close() noexcept {
  if (fd_ < 0) return;
  const int saved = errno;
  ::close(std::exchange(fd_, -1));
  errno = saved;
}

File File::duplicate() const noexcept { return File(::fcntl(fd_, F_DUPFD_CLOEXEC, 3)); }

std::optional<std::size_t> read_at(int fd, std::span<char> buffer, off_t offset) noexcept {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const ssize_t count = retry_interrupted([&] {
      return ::pread(fd, buffer.data() + filled, buffer.size() - filled,
                     offset + static_cast<off_t>(filled));
    });
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

std::string_view read_text(int fd, std::span<char> buffer) noexcept {
  // /proc texts come whole in one pread when the buffer is large enough; asking again for the
  // end of file would run the kernel's generator a second time, so only a full page asks again.
  const ssize_t first =
      retry_interrupted([&] { return ::pread(fd, buffer.data(), buffer.size(), 0); });
  if (first <= 0) return {};
  std::size_t filled = static_cast<std::size_t>(first);
  // seq_file hands out whole records up to its buffer; a short read may not be the end.
  while (filled < buffer.size() && filled >= 2048) {
    const ssize_t count = retry_interrupted([&] {
      return ::pread(fd, buffer.data() + filled, buffer.size() - filled,
                     static_cast<off_t>(filled));
    });
    if (count <= 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return {buffer.data(), filled};
}

bool write_at(int fd, std::string_view bytes, off_t offset) noexcept {
  std::size_t written = 0;
  while (written < bytes.size()) {
    if (fails_at("write")) return false;
    const ssize_t count = retry_interrupted([&] {
      return ::pwrite(fd, bytes.data() + written, bytes.size() - written,
                      offset + static_cast<off_t>(written));
    });
    if (count < 0) return false;
    if (count == 0) {
      errno = EIO;
      return false;
    }
    written += static_cast<std::size_t>(count);
  }
  return true;
}

bool write_all(int fd, std::string_view bytes) noexcept {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = retry_interrupted(
        [&] { return ::write(fd, bytes.data() + written, bytes.size() - written); });
    if (count <= 0) return false;
    written += static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<std::string> read_small_file(const std::string& path, std::size_t limit) {
  const File file = File::try_open(path.c_str(), O_RDONLY);
  if (!file.valid()) return std::nullopt;
  // No more memory than the file needs: a limit is what it may be at worst.
  std::string text;
  std::size_t size = 0;
  do {
    text.resize(std::min(limit, std::max(kUsualBytes, 2 * size)));
    const auto count = read_at(file.fd(), std::span(text).subspan(size), static_cast<off_t>(size));
    if (!count) return std::nullopt;
    size += *count;
  } while (size == text.size() && size < limit);
  text.resize(size);
  return text;
}

std::optional<FileIdentity> identity_of(int fd) noexcept {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

std::optional<std::size_t> file_size(int fd) noexcept {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  return static_cast<std::size_t>(status.st_size);
}

bool written_lately(int fd) noexcept {
  constexpr std::int64_t kLatelyNs = 1'000'000'000;
  struct stat status{};
  if (::fstat(fd, &status) != 0) return false;
  const std::int64_t age_ns = clock_ns(CLOCK_REALTIME) - to_ns(status.st_mtim);
  return age_ns < kLatelyNs && age_ns > -kLatelyNs;
}

}  // namespace base
