#pragma once
// The bytes of one recording, read with pread: a file that may still grow, and where the disk was
// full the memfd in which it goes on. Never a mapping: a file that shrinks must not be a SIGBUS.

#include <cstddef>
#include <optional>
#include <span>

namespace store {

class LogBytes {
 public:
  // The descriptors stay the caller's. fd < 0: no file.
  explicit LogBytes(int fd = -1) noexcept : fd_(fd) {}

  // Bytes from `offset` on lie in `memfd`, from 0; memfd < 0: all of it is in the file.
  void set_spill(int memfd, std::size_t offset) noexcept;

  // True: nothing is read, as if the system refused with EAGAIN: the file system doesn't answer.
  void pause(bool paused) noexcept { paused_ = paused; }

  // nullopt with errno set when the system refused.
  [[nodiscard]] std::optional<std::size_t> size() const noexcept;

  // Fills `buffer` from `offset`; fewer bytes only where the recording ends.
  [[nodiscard]] std::optional<std::size_t> read(std::size_t offset,
                                                std::span<char> buffer) const noexcept;

 private:
  int fd_;
  int spill_fd_ = -1;
  std::size_t spill_offset_ = 0;
  bool paused_ = false;
};

}  // namespace store
