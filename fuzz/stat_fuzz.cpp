// /proc/stat: no core may be written outside of its place.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "probe/cpu.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<record::Value> cores(size == 0 ? 0 : data[0] % 8);
  const auto stat = probe::parse_stat(text, cores);
  if (!stat) return 0;
  if (stat->busy_ticks < 0) __builtin_trap();
  constexpr record::Value kNone = record::unknown(record::State::kNotSupported);
  for (const auto value : {stat->steal_ticks, stat->context_switches, stat->threads_running}) {
    if (value < 0 && value != kNone) __builtin_trap();
  }
  return 0;
}
