// /proc/PID/environ, for what Slurm says in it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/slurm.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto words = probe::parse_slurm_environment(text);
  if (words.cores < 1 || words.memory_bytes < 1 || words.nonsense.size() > 8) __builtin_trap();
  for (const auto& word : words.nonsense) {
    if (word.size() > 64) __builtin_trap();
    for (const char c : word) {
      if (c < ' ' || c > '~') __builtin_trap();
    }
  }
  return 0;
}
