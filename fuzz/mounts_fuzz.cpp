// /proc/PID/mountinfo, for what lies where; a path is followed in it, below a folder that isn't
// there.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "probe/mounts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto mounts = probe::parse_mounts(text);
  for (const auto& mount : mounts) {
    if (!mount.point.starts_with('/') || mount.type.empty()) __builtin_trap();
  }
  const std::string path = "/" + std::string(text.substr(0, size < 200 ? size : 200));
  const std::string followed = probe::follow_local_links("/nothing/there", path, mounts);
  if (!followed.starts_with('/')) __builtin_trap();
  probe::mount_of(mounts, followed);
  return 0;
}
