#pragma once
// A pair of connected SOCK_SEQPACKET sockets: whole messages, in order, with at most one
// descriptor each (SCM_RIGHTS). A message over about 208 kB is refused by the kernel (EMSGSIZE);
// with a reader that has stopped about 160 small ones fit.

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "base/file.hpp"

namespace base {

// Both ends close-on-exec and non-blocking. Throws Error.
std::pair<File, File> make_socket_pair();

enum class SendResult { kSent, kFull, kClosed };

// Never blocks, never raises SIGPIPE. `descriptor` < 0 sends none. kFull: the reader is behind,
// try again when the socket is writable. kClosed: nobody will read this (or another error).
SendResult send_message(int socket_fd, std::string_view bytes, int descriptor = -1) noexcept;

struct Received {
  enum class Status { kMessage, kEmpty, kClosed } status = Status::kEmpty;
  std::size_t size = 0;    // bytes put into the buffer
  bool truncated = false;  // the message was longer than the buffer: its rest is gone
  File descriptor;         // what came with it, close-on-exec
};

// Never blocks. More descriptors than one are closed at once. kClosed: the other end is gone.
Received receive_message(int socket_fd, std::span<char> buffer) noexcept;

}  // namespace base
