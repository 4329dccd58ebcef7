// What a hostile kernel may send to its sampler, one message after the other, into the sampler's
// own loop: whatever it was, the recording opens without damage.
//
// The input is a list: a byte of flags, two bytes of length (little-endian), the message.

#include <sys/socket.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/memory.hpp"
#include "base/socket.hpp"
#include "record/marks.hpp"
#include "store/recording.hpp"
#include "tools/sample_loop.hpp"

namespace {

constexpr std::uint8_t kSealed = 1;    // a sealed memfd comes with it
constexpr std::uint8_t kUnsealed = 2;  // one that can still be changed
constexpr std::uint8_t kCell = 4;      // the bytes are the source of a cell that begins
constexpr std::size_t kMostMessages = 48;

struct Input {
  const std::uint8_t* data;
  std::size_t size;

  std::uint8_t byte() {
    if (size == 0) return 0;
    --size;
    return *data++;
  }
  std::string text(std::size_t bytes) {
    bytes = std::min(bytes, size);
    std::string result(reinterpret_cast<const char*>(data), bytes);
    data += bytes;
    size -= bytes;
    return result;
  }
};

std::string as_cell(std::string source, std::int64_t index) {
  record::CellBegin begin;
  begin.index = index;
  begin.source = std::move(source);
  std::string bytes;
  record::encode_message(std::move(begin), bytes);
  return bytes;
}

void send_all(int socket_fd, Input input) {
  for (std::size_t count = 0; input.size > 0 && count < kMostMessages; ++count) {
    const std::uint8_t flags = input.byte();
    const std::size_t low = input.byte();
    std::string bytes = input.text(low | std::size_t{input.byte()} << 8);
    base::File file;
    if ((flags & kSealed) != 0) {
      file = base::make_sealed_memfd("fuzz", bytes);
    } else if ((flags & kUnsealed) != 0) {
      file = base::make_memfd("fuzz");
      base::write_at(file.fd(), bytes, 0);
    }
    if ((flags & kCell) != 0) bytes = as_cell(std::move(bytes), static_cast<std::int64_t>(count));
    base::send_message(socket_fd, bytes, file.fd());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::signal(SIGALRM, SIG_IGN);  // the loop's own limit of time: the process goes on here
  try {
    auto [ours, theirs] = base::make_socket_pair();
    const base::File recording = base::make_memfd("fuzz");
    std::string hello;
    record::encode_message(record::Hello{"fuzz"}, hello);
    base::send_message(ours.fd(), hello);
    send_all(ours.fd(), {data, size});
    std::string close;
    record::encode_message(record::Close{}, close);
    base::send_message(ours.fd(), close);
    ::shutdown(ours.fd(), SHUT_WR);  // even where the socket was full

    tools::LoopOptions options;
    options.process_level = options.node_level = false;
    options.socket_fd = theirs.fd();
    options.recording_fd = recording.duplicate().release();  // the loop closes it
    if (tools::run_sample_loop(options) != 0) __builtin_trap();
    const auto read = store::Recording::open("/proc/self/fd/" + std::to_string(recording.fd()));
    if (!read.damages().empty()) __builtin_trap();
  } catch (const base::Error&) {  // no descriptor, no memory
    __builtin_trap();
  }
  return 0;
}
