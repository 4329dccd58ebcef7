#include "transfer/memory_writer.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/failpoint.hpp"
#include "base/file.hpp"

namespace transfer {
namespace {

constexpr int kPipeBytes = 1 << 20;  // the most that everybody may have (pipe-max-size)

}  // namespace

// Empty between two calls.
struct MemoryWriter::Pipe {
  base::File read_end, write_end;
  std::size_t size_bytes = 0;

  [[nodiscard]] bool open() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end = base::File(ends[0]);
    write_end = base::File(ends[1]);
    static_cast<void>(::fcntl(write_end.fd(), F_SETPIPE_SZ, kPipeBytes));  // a user has a limit
    const int size = ::fcntl(write_end.fd(), F_GETPIPE_SZ);
    size_bytes = size > 0 ? static_cast<std::size_t>(size) : 0;
    return size > 0;
  }

  // How much of it was written; less than all: it can't go on this way, or `code`.
  std::size_t pass_on(int fd, std::span<const std::byte> bytes, off_t offset, int& code) const {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const auto piece = bytes.subspan(done, std::min(size_bytes, bytes.size() - done));
      const iovec source{const_cast<std::byte*>(piece.data()), piece.size()};
      const ssize_t taken =
          base::retry_interrupted([&] { return ::vmsplice(write_end.fd(), &source, 1, 0); });
      if (taken <= 0) return done;
      for (auto left = static_cast<std::size_t>(taken); left > 0;) {
        off_t target = offset + static_cast<off_t>(done);
        const ssize_t moved = base::retry_interrupted(
            [&] { return ::splice(read_end.fd(), nullptr, fd, &target, left, 0); });
        if (moved <= 0) {
          code = moved < 0 ? errno : EIO;
          return done;
        }
        left -= static_cast<std::size_t>(moved);
        done += static_cast<std::size_t>(moved);
      }
    }
    return done;
  }
};

MemoryWriter::MemoryWriter() = default;
MemoryWriter::~MemoryWriter() = default;

std::unique_ptr<MemoryWriter::Pipe> MemoryWriter::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto pipe = std::move(idle_.back());
      idle_.pop_back();
      return pipe;
    }
  }
  auto pipe = std::make_unique<Pipe>();
  return pipe->open() ? std::move(pipe) : nullptr;
}

int MemoryWriter::write_at(int fd, std::span<const std::byte> bytes, off_t offset) {
  if (base::fails_at("write")) return errno;
  std::size_t done = 0;
  int code = 0;
  if (auto pipe = take()) {
    done = pipe->pass_on(fd, bytes, offset, code);
    // After a failed splice(2) it isn't empty.
    if (code == 0) {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(pipe));
    }
  }
  const auto rest = bytes.subspan(done);
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  return base::write_at(fd, text, offset + static_cast<off_t>(done)) ? 0 : errno;
}

}  // namespace transfer
