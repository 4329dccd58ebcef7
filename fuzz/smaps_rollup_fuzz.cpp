// /proc/PID/smaps_rollup.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/memory.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto sizes = probe::parse_smaps_rollup(text);
  if (sizes && (sizes->resident_bytes < 0 || sizes->proportional_bytes < 0)) __builtin_trap();
  if (sizes && !record::is_known(sizes->swap_bytes) &&
      sizes->swap_bytes != record::unknown(record::State::kNotSupported)) {
    __builtin_trap();
  }
  return 0;
}
