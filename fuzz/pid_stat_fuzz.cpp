// /proc/PID/stat.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/process_stat.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto stat = probe::parse_pid_stat(text);
  if (stat && (stat->own_ns < 0 || stat->children_ns < 0 || stat->parent < 0)) __builtin_trap();
  return 0;
}
