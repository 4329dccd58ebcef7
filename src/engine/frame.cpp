#include "engine/frame.hpp"

#include <cstring>

namespace engine {
namespace {
constexpr std::uint32_t kInMemoryFile = 1;
constexpr std::uint32_t kWithDescriptor = 2;
}  // namespace

std::string encode_frame(const Frame& frame) {
  const std::uint32_t flags =
      (frame.in_memory_file ? kInMemoryFile : 0U) | (frame.with_descriptor ? kWithDescriptor : 0U);
  std::string message(kFrameBytes, '\0');
  std::memcpy(message.data(), &frame.kind, sizeof frame.kind);
  std::memcpy(message.data() + 4, &flags, sizeof flags);
  std::memcpy(message.data() + 8, &frame.size, sizeof frame.size);
  return message.append(frame.payload);
}

std::optional<Frame> parse_frame(std::string_view message) noexcept {
  if (message.size() < kFrameBytes) return std::nullopt;
  Frame frame;
  std::uint32_t flags = 0;
  std::memcpy(&frame.kind, message.data(), sizeof frame.kind);
  std::memcpy(&flags, message.data() + 4, sizeof flags);
  std::memcpy(&frame.size, message.data() + 8, sizeof frame.size);
  if ((flags & ~(kInMemoryFile | kWithDescriptor)) != 0) return std::nullopt;
  frame.in_memory_file = (flags & kInMemoryFile) != 0;
  frame.with_descriptor = (flags & kWithDescriptor) != 0;
  frame.payload = message.substr(kFrameBytes);
  if (frame.in_memory_file ? !frame.payload.empty() : frame.payload.size() != frame.size) {
    return std::nullopt;
  }
  return frame;
}

}  // namespace engine
