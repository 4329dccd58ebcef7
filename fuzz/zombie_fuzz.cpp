// /proc/PID/stat of a process that has ended: its wait status.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tools/death.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t kStartTicks = 269428;  // as in the corpus
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const int status = tools::zombie_wait_status(text, kStartTicks);
  if (status < -1) __builtin_trap();
  if (status >= 0) tools::end_from_wait_status(status);
  // Where the text has that start time it hasn't another, and none has begun before the machine.
  if (status >= 0 && tools::zombie_wait_status(text, kStartTicks + 1) >= 0) __builtin_trap();
  if (tools::zombie_wait_status(text, -1) != -1) __builtin_trap();
  return 0;
}
