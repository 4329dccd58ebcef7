// How /proc is mounted, from /proc/PID/mountinfo.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tools/doctor_mount.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto mount = tools::parse_proc_mount(text);
  if (!mount.found && (mount.only_processes || !mount.hides.empty())) __builtin_trap();
  if (mount.hides.size() + mount.group.size() > size) __builtin_trap();
  return 0;
}
