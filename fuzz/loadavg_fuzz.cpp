// /proc/loadavg.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto load = probe::parse_loadavg(text);
  constexpr record::Value kNone = record::unknown(record::State::kNotSupported);
  if (!load) return 0;
  if (load->threads < 0) __builtin_trap();
  if (load->load_1min_milli < 0 && load->load_1min_milli != kNone) __builtin_trap();
  return 0;
}
