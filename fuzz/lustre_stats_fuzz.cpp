// llite/*/stats of a Lustre client.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/lustre.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto counts = probe::parse_lustre_stats(text)) {
    for (const auto count : *counts) {
      if (count < 0) __builtin_trap();
    }
  }
  return 0;
}
