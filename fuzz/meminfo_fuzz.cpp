// /proc/meminfo.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/memory.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto memory = probe::parse_meminfo(text);
  if (!memory) return 0;
  if (memory->total_bytes < 0 || memory->available_bytes.value_or(0) < 0) __builtin_trap();
  constexpr record::Value kNone = record::unknown(record::State::kNotSupported);
  for (const auto value :
       {memory->cache_bytes, memory->swap_total_bytes, memory->swap_used_bytes}) {
    if (value < 0 && value != kNone) __builtin_trap();
  }
  return 0;
}
