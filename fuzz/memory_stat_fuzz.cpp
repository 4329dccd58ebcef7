// memory.stat, limits and counts of killed processes of a cgroup.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/cgroup_memory.hpp"
#include "probe/scan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto memory = probe::parse_memory_stat(text);
  for (const auto value :
       {memory.anonymous_bytes, memory.shared_bytes, memory.cache_bytes, memory.inactive_file_bytes,
        memory.swap_bytes, memory.limit_bytes, probe::parse_oom_kills(text)}) {
    const auto unknown = record::unknown(record::State::kNotSupported);
    if (!record::is_known(value) && value != unknown) __builtin_trap();
    if (value > probe::kMostNumber) __builtin_trap();
  }
  if (probe::parse_limit(text).value_or(0) < 0) __builtin_trap();
  return 0;
}
