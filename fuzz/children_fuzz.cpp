// /proc/PID/task/TID/children.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/children.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  probe::parse_children(text, [](pid_t pid) {
    if (pid <= 0) __builtin_trap();
  });
  return 0;
}
