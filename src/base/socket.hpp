#pragma once
// A pair of connected SOCK_SEQPACKET sockets: whole messages, in order, with at most two
// descriptors each (SCM_RIGHTS). A message over about 208 kB is refused by the kernel (EMSGSIZE);
// with a reader that has stopped about 160 small ones fit.

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "base/file.hpp"

namespace base {

// Both ends close-on-exec and non-blocking; `purpose` is who it is for. Throws Error.
std::pair<File, File> make_socket_pair(std::string_view purpose = "the sampler");

enum class SendResult { kSent, kFull, kClosed };

// Never blocks, never raises SIGPIPE. `descriptor` < 0 sends none. kFull: the reader is behind,
// try again when the socket is writable. kClosed: nobody will read this (or another error).
SendResult send_message(int socket_fd, std::string_view bytes, int descriptor = -1) noexcept;
// The same with both descriptors: the second one, too, may be < 0.
SendResult send_message(int socket_fd, std::string_view bytes, int descriptor,
                        int further) noexcept;

struct Received {
  enum class Status { kMessage, kEmpty, kClosed } status = Status::kEmpty;
  std::size_t size = 0;    // bytes put into the buffer
  bool truncated = false;  // the message was longer than the buffer: its rest is gone
  File descriptor;         // what came with it, close-on-exec
  File further;            // and the second one
};

// Never blocks. More descriptors than two are closed at once. kClosed: the other end is gone.
Received receive_message(int socket_fd, std::span<char> buffer) noexcept;

}  // namespace base
