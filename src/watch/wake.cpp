#include "watch/wake.hpp"

#include <sys/socket.h>

#include <array>

#include "watch/ours.hpp"

namespace watch {

Wake::Wake() { make(); }

void Wake::make() {
  std::array<int, 2> ends{-1, -1};
  constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  if (::socketpair(AF_UNIX, kKind, 0, ends.data()) != 0) ends = {-1, -1};
  sender_ = base::File(ends[0]);
  receiver_ = base::File(ends[1]);
  sender_identity_ = base::identity_of(ends[0]);
  receiver_identity_ = base::identity_of(ends[1]);
}

void Wake::look() {
  const bool sender_is_ours = is_ours(sender_, sender_identity_);
  const bool receiver_is_ours = is_ours(receiver_, receiver_identity_);
  if (!sender_is_ours) static_cast<void>(sender_.release());
  if (!receiver_is_ours) static_cast<void>(receiver_.release());
  if (!sender_is_ours || !receiver_is_ours) make();
}

void Wake::wake() const {
  if (sender_.valid() && is_ours(sender_, sender_identity_)) {
    ::send(sender_.fd(), "", 1, MSG_NOSIGNAL);
  }
}

void Wake::drain() const {
  std::array<char, 64> bytes{};
  while (::recv(receiver_.fd(), bytes.data(), bytes.size(), 0) > 0) {
  }
}

}  // namespace watch
