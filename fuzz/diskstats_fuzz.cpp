// /proc/diskstats.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/disks.hpp"
#include "probe/scan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (probe::Scanner lines(text); !lines.done();) {
    const auto found = probe::parse_disk(lines.line());
    if (!found) continue;
    if (found->name.empty()) __builtin_trap();
    for (const auto count : found->counts) {
      if (count < 0 || count > probe::kMostNumber) __builtin_trap();
    }
  }
  return 0;
}
