#pragma once
// The way between kernel and engine: whole messages over one SOCK_SEQPACKET socket, each a kind, a
// payload of any size and, if need be, one descriptor. The format is drawn in engine/frame.hpp.
// Many threads, and processes forked from the engine, may send at once; one thread at a time
// receives. That the channel is closed says nothing about the engine's end, nor the other way
// round: a forked child keeps the socket. Watch the engine's pidfd as well.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.hpp"

namespace engine {

constexpr std::size_t kMostPayload = std::size_t{1} << 30;

enum class Sent {
  kSent,
  kTimeout,  // nobody read until the deadline
  kClosed,   // nobody will read it
  kFailed,   // no memory for a large payload (errno says why); the channel is as before
};

struct Message {
  std::uint32_t kind = 0;
  std::string payload;
  base::File descriptor;  // close-on-exec; invalid when none came
};

struct Reception {
  enum class Status {
    kMessage,
    kTimeout,
    kWoken,      // no message, but one of the wakes
    kClosed,     // every holder of the other end has closed it
    kMalformed,  // one message was dropped: `reason`; its descriptors are closed
  } status = Status::kTimeout;
  Message message;
  const char* reason = "";
  // Which wakes were ready or broken, bit i for wakes[i]; told with every status, so that a flood
  // of messages hides none.
  std::uint32_t woken = 0;
};

class Channel {
 public:
  Channel() noexcept = default;
  // Takes one end: close-on-exec from now on. Payloads over `most_payload` bytes are refused when
  // they arrive. Throws base::Error when the descriptor is no such socket.
  explicit Channel(base::File socket, std::size_t most_payload = kMostPayload);

  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
  [[nodiscard]] bool valid() const noexcept { return socket_.valid(); }

  // Waits until the deadline while the other end is behind. A payload over 64 KiB is copied once,
  // into a sealed memfd. The descriptor stays the caller's; < 0 sends none.
  Sent send(std::uint32_t kind, std::string_view payload, std::int64_t deadline_ns,
            int descriptor = -1) const;

  // Waits for a message, one of at most 32 `wakes` (an eventfd, a pidfd, a pipe: readable, hung up
  // or no descriptor at all; < 0 is skipped) or the deadline. A message that is there wins. What
  // arrives is trusted in nothing: a large payload is read only from a sealed memfd of the size
  // that was said.
  Reception receive(std::int64_t deadline_ns, std::span<const int> wakes = {});

 private:
  Reception take(Reception reception);

  base::File socket_;
  std::size_t most_payload_ = kMostPayload;
  std::unique_ptr<char[]> buffer_;  // kFrameBytes + kMostInline, made at the first receive
};

// Both ends of a new channel: the kernel's, and the socket that the engine inherits (close-on-exec
// here). Throws base::Error.
std::pair<Channel, base::File> make_channel(std::size_t most_payload = kMostPayload);

}  // namespace engine
