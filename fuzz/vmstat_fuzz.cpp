// /proc/vmstat.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/storage.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto storage = probe::parse_vmstat(text);
  if (storage.read_bytes.value_or(0) < 0 || storage.write_bytes.value_or(0) < 0) __builtin_trap();
  return 0;
}
