#pragma once
// Network interfaces: what each has counted, and which of them make up the traffic of a network
// namespace.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/device_sum.hpp"
#include "probe/kernel_file.hpp"

namespace probe {

enum InterfaceCount : std::size_t {
  kReceiveBytes,
  kTransmitBytes,
  kReceivePackets,
  kTransmitPackets,
  kErrors,  // damaged or dropped, both ways
  kInterfaceCounts,
};

// Parses a line of /proc/net/dev (proc_pid_net(5); net/core/net-procfs.c). nullopt for the two
// lines of headings and for whatever else isn't an interface's.
//
//   eth0: 1472481448   38214    0    0    0     0          0         0  3339247   25700    0 …
//
// Behind the name: bytes packets errs drop fifo frame compressed multicast, received, then bytes
// packets errs drop fifo colls carrier compressed, sent. Errors are errs + drop. On old kernels a
// long number follows the colon at once.
std::optional<DeviceLine<kInterfaceCounts>> parse_interface(std::string_view line) noexcept;

// The interfaces of one network namespace. Those are added up that carry traffic in or out of it,
// none twice: the ones with hardware below (/sys/class/net/X/device). Where none has (a container),
// those that don't stand on others; where none is left, all but the loopback.
class Interfaces {
 public:
  using Counts = DeviceSum<kInterfaceCounts>::Counts;

  // `path`: of the file "dev". `sys_folder`: "/sys/class/net" when that shows the same namespace,
  // else "": their names alone tell then.
  Interfaces(const std::string& root, std::string_view path, std::string_view sys_folder);

  // False when it can't be read now. Allocates only when interfaces are new, once a second at most.
  bool read(std::span<char> buffer, std::int64_t now_ns) noexcept;
  [[nodiscard]] const Counts& totals() const noexcept { return sum_.totals(); }
  [[nodiscard]] const KernelFile& file() const noexcept { return file_; }
  // Names of those that count at the moment.
  [[nodiscard]] std::vector<std::string> counted() const;

 private:
  [[nodiscard]] std::uint8_t rank_of(std::string_view name) const;

  KernelFile file_;
  std::string sys_folder_;  // "": it doesn't tell
  DeviceSum<kInterfaceCounts> sum_;
};

}  // namespace probe
