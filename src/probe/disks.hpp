#pragma once
// Block devices: what was read from and written to the node's disks.

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

enum DiskCount : std::size_t {
  kDiskReadBytes,
  kDiskWriteBytes,
  kDiskReadOps,
  kDiskWriteOps,
  kDiskBusyNs,  // time in which at least one request was under way
  kDiskCounts,
};

// Parses a line of /proc/diskstats (Documentation/admin-guide/iostats.rst). nullopt for anything
// else.
//
//   254       0 vda 1189022 246593 275559666 11864325 1134514 424040 94164144 1111078 0 403752 …
//
// Behind the name: reads completed, merged, sectors, ms; the same four of writes; requests under
// way, ms with requests under way; later kernels have more. A sector is 512 bytes whatever the
// disk's own are.
std::optional<DeviceLine<kDiskCounts>> parse_disk(std::string_view line) noexcept;

// The whole disks of the node: no partitions, none that stand on others (device mapper, RAID,
// bcache, loop), no memory (zram), one path of each (multipath). So a mirrored write counts
// on each of its disks, and network file systems don't count. A tick costs 20 us of CPU with ten
// devices listed.
class Disks {
 public:
  using Counts = DeviceSum<kDiskCounts>::Counts;

  explicit Disks(const std::string& root);

  // False when this system has no list of disks at all, or an empty one (some containers).
  [[nodiscard]] bool available() const noexcept { return available_; }
  // Why it isn't.
  [[nodiscard]] record::State state() const noexcept { return file_.state(); }
  [[nodiscard]] std::string reason() const;

  // False when it can't be read now. Allocates only when devices are new, once a second at most.
  bool read(std::span<char> buffer, std::int64_t now_ns) noexcept;
  [[nodiscard]] const Counts& totals() const noexcept { return sum_.totals(); }
  // Names of those that count at the moment.
  [[nodiscard]] std::vector<std::string> counted() const;

 private:
  [[nodiscard]] bool is_whole_disk(std::string_view name) const;
  [[nodiscard]] bool is_listed(std::string_view name) const noexcept;

  KernelFile file_;
  std::string sys_folder_;  // "": there is none
  DeviceSum<kDiskCounts> sum_;
  bool available_ = false;
};

}  // namespace probe
