#pragma once
// What a group had read from and written to block devices, device by device ("8:0").

#include <array>
#include <cstdint>
#include <string_view>

#include "probe/scan.hpp"

namespace probe {

// What is read and written, in bytes or in requests.
using ReadWrite = std::array<std::int64_t, 2>;

struct DeviceIo {
  std::string_view device;  // "8:0"; empty when the line has none
  ReadWrite bytes{};
  ReadWrite requests{};
};

// One line of io.stat of version 2 (Documentation/admin-guide/cgroup-v2.rst). A device without
// figures is one with zeros.
//
//   8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0
DeviceIo parse_io_stat_line(std::string_view line) noexcept;

// "8:0", not "Total" or "(unknown)".
bool is_device(std::string_view word) noexcept;

// Calls visit(device, ReadWrite) for each device of blkio.throttle.io_service_bytes, _recursive, or
// io_serviced, of version 1 (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
//
//   8:0 Read 1459200
//   8:0 Write 314773504
//   8:0 Sync 316232704
//   Total 316232704
template <typename Visit>
void visit_blkio(std::string_view text, Visit visit) {
  std::string_view device;
  ReadWrite counts{};
  for (Scanner lines(text); !lines.done();) {
    Scanner words(lines.line());
    const std::string_view name = words.word();
    if (name != device) {
      if (!device.empty()) visit(device, counts);
      counts = {};
      device = is_device(name) ? name : std::string_view();
    }
    if (device.empty()) continue;
    const std::string_view kind = words.word();
    if (kind == "Read") counts[0] = words.number().value_or(counts[0]);
    if (kind == "Write") counts[1] = words.number().value_or(counts[1]);
  }
  if (!device.empty()) visit(device, counts);
}

}  // namespace probe
