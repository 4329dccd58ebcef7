// cpu.max, cpu.cfs_quota_us with its period, and cpu.stat of a cgroup.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/cgroup_cpu.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (probe::parse_cpu_max(text).value_or(1) < 1) __builtin_trap();
  const auto half = size / 2;
  const auto quota = probe::parse_cfs_quota(text.substr(0, half), text.substr(half));
  if (quota.value_or(1) < 1) __builtin_trap();
  const auto cpu = probe::parse_cpu_stat(text);
  for (const auto value : {cpu.usage_ns, cpu.throttled_ns, cpu.throttled_periods}) {
    const auto unknown = record::unknown(record::State::kNotSupported);
    if (!record::is_known(value) && value != unknown) __builtin_trap();
  }
  return 0;
}
