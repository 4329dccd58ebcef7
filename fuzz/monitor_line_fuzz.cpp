// What a custom monitor prints.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "record/real.hpp"
#include "tools/monitor_stream.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size > tools::MonitorStream::kMostLinesASecond) return 0;
  // In one piece and byte by byte: the same becomes of it.
  tools::MonitorStream whole(1, 0);
  tools::MonitorStream pieces(1, 0);
  whole.take(text, 1);
  for (const char one : text) {
    if (!pieces.take({&one, 1}, 1)) break;
  }
  if (whole.reason() != pieces.reason() || whole.values() != pieces.values()) __builtin_trap();
  if (whole.metrics().size() > tools::kMostMonitorMetrics) __builtin_trap();
  for (const auto value : whole.values()) {
    const auto number = record::number_of(true, value);
    if (!number && (value < -4 || value >= 0)) __builtin_trap();
  }
  return 0;
}
