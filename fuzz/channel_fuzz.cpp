// What a channel receives. The first byte says which descriptors come along (bits 0-1: none, a
// sealed memfd, one that isn't sealed, the sealed one and another) and whether the frame's own
// numbers are made right (bit 2), so that what lies behind them is reached.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/memory.hpp"
#include "base/socket.hpp"
#include "engine/channel.hpp"
#include "engine/frame.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  constexpr std::size_t kMost = 1000;
  const unsigned mode = data[0];
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((mode & 4U) != 0 && bytes.size() >= engine::kFrameBytes) {
    const std::uint32_t flags = mode >> 3U & 3U;
    const std::uint64_t said = (flags & 1U) != 0 ? bytes.size() : bytes.size() - 16;
    std::memcpy(bytes.data() + 4, &flags, sizeof flags);
    std::memcpy(bytes.data() + 8, &said, sizeof said);
  }
  const base::File sealed = base::make_sealed_memfd("fuzz", bytes);
  const base::File open = base::make_memfd("fuzz");
  base::write_at(open.fd(), bytes, 0);
  auto [channel, socket] = engine::make_channel(kMost);
  const bool outside = (mode & 5U) == 5U && bytes.size() >= engine::kFrameBytes;
  const std::string_view message =
      outside ? std::string_view(bytes).substr(0, engine::kFrameBytes) : bytes;
  const int first = (mode & 3U) == 0 ? -1 : (mode & 3U) == 2 ? open.fd() : sealed.fd();
  const int second = (mode & 3U) == 3 ? open.fd() : -1;
  const bool sent =
      base::send_message(socket.fd(), message, first, second) == base::SendResult::kSent;
  socket.close();
  const engine::Reception got = channel.receive(0);
  using Status = engine::Reception::Status;
  if (sent && got.status != Status::kMessage && got.status != Status::kMalformed) __builtin_trap();
  if (got.status == Status::kMessage && got.message.payload.size() > kMost) __builtin_trap();
  if (got.status == Status::kMalformed && got.reason[0] == '\0') __builtin_trap();
  if (const auto frame = engine::parse_frame(bytes)) {
    if (engine::encode_frame(*frame) != bytes) __builtin_trap();
  }
  return 0;
}
