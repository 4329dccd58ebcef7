#include "store/log_bytes.hpp"

#include <sys/types.h>

#include <algorithm>
#include <cerrno>

#include "base/file.hpp"

namespace store {

void LogBytes::set_spill(int memfd, std::size_t offset) noexcept {
  spill_fd_ = memfd;
  spill_offset_ = memfd >= 0 ? offset : 0;
}

std::optional<std::size_t> LogBytes::size() const noexcept {
  if (paused_) {
    errno = EAGAIN;
    return std::nullopt;
  }
  if (spill_fd_ >= 0) {
    const auto spilled = base::file_size(spill_fd_);
    if (!spilled) return std::nullopt;
    return spill_offset_ + *spilled;
  }
  if (fd_ < 0) return 0;
  return base::file_size(fd_);
}

std::optional<std::size_t> LogBytes::read(std::size_t offset,
                                          std::span<char> buffer) const noexcept {
  if (paused_) {
    errno = EAGAIN;
    return std::nullopt;
  }
  std::size_t filled = 0;
  if (spill_fd_ < 0 || offset < spill_offset_) {
    if (fd_ < 0) return 0;
    const std::size_t wanted =
        spill_fd_ < 0 ? buffer.size() : std::min(buffer.size(), spill_offset_ - offset);
    const auto got = base::read_at(fd_, buffer.first(wanted), static_cast<off_t>(offset));
    if (!got || *got < wanted) return got;
    filled = wanted;
  }
  if (filled == buffer.size()) return filled;
  const std::size_t inside = offset + filled - spill_offset_;
  const auto got = base::read_at(spill_fd_, buffer.subspan(filled), static_cast<off_t>(inside));
  if (!got) return std::nullopt;
  return filled + *got;
}

}  // namespace store
