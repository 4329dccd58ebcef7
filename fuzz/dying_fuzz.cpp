// /proc/PID/status: whether the process is on its way out.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/oom_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find("Vm") == std::string_view::npos && !probe::is_dying(text)) __builtin_trap();
  return 0;
}
