// /proc/vmstat.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/storage.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto vmstat = probe::parse_vmstat(text);
  constexpr record::Value kNone = record::unknown(record::State::kNotSupported);
  for (const auto value : {vmstat.read_bytes, vmstat.write_bytes, vmstat.swap_in_pages,
                           vmstat.swap_out_pages, vmstat.page_faults, vmstat.major_page_faults}) {
    if (value < 0 && value != kNone) __builtin_trap();
  }
  return 0;
}
