// /proc/PID/mountstats.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/mountstats.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& mount : probe::parse_mountstats(text)) {
    for (const auto count : mount.counts) {
      if (count < 0) __builtin_trap();
    }
  }
  return 0;
}
