// /proc/PID/stat.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/process_stat.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto stat = probe::parse_pid_stat(text);
  if (!stat) return 0;
  if (stat->own_ns < 0 || stat->children_ns < 0 || stat->parent < 0) __builtin_trap();
  for (const auto& faults : {stat->own_faults, stat->children_faults}) {
    if (faults[0] < faults[1] || faults[1] < 0) __builtin_trap();
  }
  if (stat->name.text().size() > 15) __builtin_trap();
  return 0;
}
