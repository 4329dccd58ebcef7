// /sys/devices/system/cpu/online and its like: ascending, bounded.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "probe/cores.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::int64_t> cores = probe::parse_core_list(text);
  for (std::size_t i = 0; i < cores.size(); ++i) {
    if (cores[i] >= probe::kMostCores || (i > 0 && cores[i] <= cores[i - 1])) __builtin_trap();
  }
  return 0;
}
