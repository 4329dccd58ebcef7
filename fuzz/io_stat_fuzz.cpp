// io.stat and blkio.throttle.* of a cgroup.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/cgroup_io.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto check = [](std::string_view device, const probe::ReadWrite& counts) {
    if (!probe::is_device(device)) __builtin_trap();
    for (const auto count : counts) {
      if (count < 0 || count > probe::kMostNumber) __builtin_trap();
    }
  };
  probe::visit_blkio(text, check);
  for (probe::Scanner lines(text); !lines.done();) {
    const auto io = probe::parse_io_stat_line(lines.line());
    if (io.device.empty()) continue;
    check(io.device, io.bytes);
    check(io.device, io.requests);
  }
  return 0;
}
