// /proc/PID/cgroup.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/cgroup_path.hpp"
#include "probe/slurm.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto check = [](std::string_view path) {
    if (!path.empty() && !path.starts_with('/')) __builtin_trap();
    if (!path.starts_with(probe::slurm_job_path(path))) __builtin_trap();
  };
  for (const auto name : probe::kControllerNamesV1) check(probe::parse_cgroup_v1(text, name));
  check(probe::parse_cgroup_v2(text));
  return 0;
}
