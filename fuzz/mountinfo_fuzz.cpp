// /proc/PID/mountinfo.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/cgroup_mounts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto mounts = probe::parse_mountinfo(text);
  if (mounts.size() > probe::kMostCgroupMounts) __builtin_trap();
  for (const auto& mount : mounts) {
    if (!mount.outer.starts_with('/') || !mount.point.starts_with('/')) __builtin_trap();
  }
  return 0;
}
