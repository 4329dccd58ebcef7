// /proc/pressure/* and a cgroup's *.pressure.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/pressure.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto totals = probe::parse_pressure(text);
  constexpr record::Value kNone = record::unknown(record::State::kNotSupported);
  for (const auto value : {totals.some_ns, totals.full_ns}) {
    if (value < 0 && value != kNone) __builtin_trap();
  }
  return 0;
}
