#include "base/socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/failpoint.hpp"

namespace base {
namespace {
constexpr std::size_t kMostDescriptors = 4;
}

std::pair<File, File> make_socket_pair(std::string_view purpose) {
  std::array<int, 2> ends{-1, -1};
  if (fails_at("socketpair") ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    throw Error("cannot make a socket pair for", purpose, errno);
  }
  return {File(ends[0]), File(ends[1])};
}

SendResult send_message(int socket_fd, std::string_view bytes, int descriptor) noexcept {
  return send_message(socket_fd, bytes, descriptor, -1);
}

SendResult send_message(int socket_fd, std::string_view bytes, int descriptor,
                        int further) noexcept {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  std::array<int, 2> descriptors{descriptor, further};
  if (descriptor < 0) std::swap(descriptors[0], descriptors[1]);
  const std::size_t count = descriptors[0] < 0 ? 0 : descriptors[1] < 0 ? 1 : 2;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
  if (count > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors.data(), count * sizeof(int));
  }
  for (;;) {
    const ssize_t sent = ::sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return SendResult::kSent;
    if (errno == EINTR) continue;
    const bool full =
        errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS;
    return full ? SendResult::kFull : SendResult::kClosed;
  }
}

Received receive_message(int socket_fd, std::span<char> buffer) noexcept {
  Received received;
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const auto receive = [&]() noexcept {
    ssize_t got = 0;
    do {
      got = ::recvmsg(socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    return got;
  };
  ssize_t count = receive();
  // The other end died with unread messages: the system says so once, before its last words.
  if (count < 0 && errno == ECONNRESET) count = receive();
  if (count < 0) {
    const bool empty = errno == EAGAIN || errno == EWOULDBLOCK;
    received.status = empty ? Received::Status::kEmpty : Received::Status::kClosed;
    return received;
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t descriptors = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < descriptors; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
      File owned(descriptor);
      if (!received.descriptor.valid()) {
        received.descriptor = std::move(owned);
      } else if (!received.further.valid()) {
        received.further = std::move(owned);
      }
    }
  }
  // A message of no bytes is how a sequenced-packet socket says that the other end is gone; we
  // never send one.
  received.status = count == 0 ? Received::Status::kClosed : Received::Status::kMessage;
  received.size = static_cast<std::size_t>(count);
  received.truncated = (message.msg_flags & MSG_TRUNC) != 0;
  return received;
}

}  // namespace base
