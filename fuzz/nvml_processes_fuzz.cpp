// A list of processes as a driver left it in our buffer: one byte that says how many, then the
// entries.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "probe/gpu_processes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 64;
  std::vector<char> entries(kMost * sizeof(probe::nvml::ProcessDetail), probe::kUntouchedEntry);
  if (size == 0) return 0;
  const std::uint32_t count = data[0] % (kMost + 1);
  std::memcpy(entries.data(), data + 1, std::min(size - 1, entries.size()));
  const std::size_t bytes =
      probe::process_entry_bytes(entries, count, sizeof(probe::nvml::ProcessInfo));
  if (bytes != 16 && bytes != 24 && bytes != 32) __builtin_trap();
  return 0;
}
