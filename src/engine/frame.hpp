#pragma once
// The first bytes of each message of a channel; integers as this machine has them:
//
//   0   4   kind, the caller's own
//   4   4   flags: 1 = the payload lies in the sealed memfd that came as first descriptor, not
//           here; 2 = a descriptor of the caller's came too (behind the memfd if there is one)
//   8   8   bytes of payload
//   16      the payload, unless flag 1

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace engine {

constexpr std::size_t kFrameBytes = 16;
// More than this travels beside the message. The socket takes about 208 kB at once.
constexpr std::size_t kMostInline = 64 * 1024;

struct Frame {
  std::uint32_t kind = 0;
  bool in_memory_file = false;
  bool with_descriptor = false;
  std::uint64_t size = 0;
  std::string_view payload = {};  // a view into the message; empty when it lies in the memfd
};

std::string encode_frame(const Frame& frame);

// Empty when the bytes are no frame: too short, unknown flags, or a size that isn't the payload's.
std::optional<Frame> parse_frame(std::string_view message) noexcept;

}  // namespace engine
