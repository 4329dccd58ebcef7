// /proc/PID/status: signals, user, peak, cores.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/cores.hpp"
#include "probe/process_stat.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  probe::parse_status_sigign(text);
  probe::parse_status_uid(text);
  const auto peak = probe::parse_status_vmhwm(text);
  if (peak && *peak < 0) __builtin_trap();
  probe::parse_core_list(probe::parse_status_cores(text));
  return 0;
}
