// /proc/loadavg.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (probe::parse_loadavg(text).value_or(0) < 0) __builtin_trap();
  return 0;
}
