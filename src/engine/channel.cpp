#include "engine/channel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <new>
#include <optional>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/socket.hpp"
#include "engine/deadline.hpp"
#include "engine/frame.hpp"

namespace engine {
namespace {

constexpr std::size_t kMostWakes = 32;

using Status = Reception::Status;

Reception malformed(Reception reception, const char* reason) noexcept {
  reception.status = Status::kMalformed;
  reception.reason = reason;
  return reception;
}

// Full, though poll says writable: too many descriptors under way, or the system is out of
// buffers. Nothing tells when that is over.
void nap() noexcept { ::poll(nullptr, 0, 1); }

// The memfd's bytes; empty with `reason` set when they can't be trusted or had.
std::optional<std::string> read_sealed(int fd, std::uint64_t size, const char*& reason) {
  reason = "its payload lies in no sealed memory file";
  if (!base::is_sealed(fd)) return std::nullopt;
  reason = "its payload is not of the size that it says";
  if (base::file_size(fd) != size) return std::nullopt;
  reason = "its payload could not be read";
  try {
    std::string payload(size, '\0');
    if (base::read_at(fd, payload, 0) != size) return std::nullopt;
    return payload;
  } catch (const std::bad_alloc&) {
    reason = "there is no memory for its payload";
    return std::nullopt;
  }
}

}  // namespace

Channel::Channel(base::File socket, std::size_t most_payload)
    : socket_(std::move(socket)), most_payload_(most_payload) {
  int type = 0;
  socklen_t length = sizeof type;
  constexpr std::string_view kVerb = "cannot use as a channel:";
  const std::string name = "descriptor " + std::to_string(fd());
  if (::getsockopt(fd(), SOL_SOCKET, SO_TYPE, &type, &length) != 0) {
    throw base::Error(kVerb, name, errno);
  }
  if (type != SOCK_SEQPACKET) throw base::Error(kVerb, name, "it doesn't keep messages apart");
  if (::fcntl(fd(), F_SETFD, FD_CLOEXEC) != 0) throw base::Error(kVerb, name, errno);
}

Sent Channel::send(std::uint32_t kind, std::string_view payload, std::int64_t deadline_ns,
                   int descriptor) const {
  Frame frame{.kind = kind, .with_descriptor = descriptor >= 0, .size = payload.size()};
  base::File memory;
  if (payload.size() > kMostInline) {
    frame.in_memory_file = true;
    memory = base::make_sealed_memfd("jumper-message", payload);
    if (!memory.valid()) return Sent::kFailed;
  } else {
    frame.payload = payload;
  }
  const std::string message = encode_frame(frame);
  for (;;) {
    switch (base::send_message(fd(), message, memory.fd(), descriptor)) {
      case base::SendResult::kSent:
        return Sent::kSent;
      case base::SendResult::kClosed:
        return Sent::kClosed;
      case base::SendResult::kFull:
        break;
    }
    pollfd entry{fd(), POLLOUT, 0};
    const int ready = ::poll(&entry, 1, poll_ms(deadline_ns));
    if (ready > 0) nap();
    if (ready <= 0 && base::monotonic_ns() >= deadline_ns) return Sent::kTimeout;
  }
}

Reception Channel::receive(std::int64_t deadline_ns, std::span<const int> wakes) {
  assert(wakes.size() <= kMostWakes);
  std::array<pollfd, kMostWakes + 1> entries{};
  entries[0] = {fd(), POLLIN, 0};
  for (std::size_t i = 0; i < wakes.size(); ++i) entries[i + 1] = {wakes[i], POLLIN, 0};
  for (;;) {
    const int ready =
        ::poll(entries.data(), static_cast<nfds_t>(wakes.size() + 1), poll_ms(deadline_ns));
    Reception reception;
    if (ready > 0) {
      for (std::size_t i = 0; i < wakes.size(); ++i) {
        if (entries[i + 1].revents != 0) reception.woken |= 1U << i;
      }
      if (reception.woken != 0) reception.status = Status::kWoken;
      if (entries[0].revents != 0) reception = take(std::move(reception));
      if (reception.status != Status::kTimeout) return reception;
    }
    if (base::monotonic_ns() >= deadline_ns) return reception;
  }
}

// The next message, if there is one: another process may have been quicker.
Reception Channel::take(Reception reception) {
  constexpr std::size_t kBufferBytes = kFrameBytes + kMostInline;
  if (!buffer_) buffer_ = std::make_unique<char[]>(kBufferBytes);
  base::Received received = base::receive_message(fd(), {buffer_.get(), kBufferBytes});
  if (received.status == base::Received::Status::kEmpty) return reception;
  if (received.status == base::Received::Status::kClosed) {
    reception.status = Status::kClosed;
    return reception;
  }
  if (received.truncated) return malformed(std::move(reception), "it is longer than any message");
  const auto frame = parse_frame({buffer_.get(), received.size});
  if (!frame) return malformed(std::move(reception), "its first bytes make no sense");
  if (frame->size > most_payload_) return malformed(std::move(reception), "its payload is too big");

  const std::size_t said = (frame->in_memory_file ? 1U : 0U) + (frame->with_descriptor ? 1U : 0U);
  const std::size_t came =
      (received.descriptor.valid() ? 1U : 0U) + (received.further.valid() ? 1U : 0U);
  if (came < said) {
    return malformed(std::move(reception),
                     "a descriptor of it is missing: too many open files, perhaps");
  }
  if (came > said) return malformed(std::move(reception), "it brought more descriptors than said");

  Message& message = reception.message;
  message.kind = frame->kind;
  if (frame->in_memory_file) {
    const char* reason = "";
    auto payload = read_sealed(received.descriptor.fd(), frame->size, reason);
    if (!payload) return malformed(std::move(reception), reason);
    message.payload = std::move(*payload);
    message.descriptor = std::move(received.further);
  } else {
    message.payload = frame->payload;
    message.descriptor = std::move(received.descriptor);
  }
  reception.status = Status::kMessage;
  return reception;
}

std::pair<Channel, base::File> make_channel(std::size_t most_payload) {
  auto [ours, theirs] = base::make_socket_pair("the engine");
  return {Channel(std::move(ours), most_payload), std::move(theirs)};
}

}  // namespace engine
