#pragma once
// /proc/PID/io: what a process and the children it has waited for read and wrote.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace probe {

// In the order of the file: bytes and calls of all reads and writes, then what reached (or came
// from) block devices.
enum IoField : std::uint8_t {
  kIoReadBytes,
  kIoWriteBytes,
  kIoReadOps,
  kIoWriteOps,
  kStorageReadBytes,
  kStorageWriteBytes,
  kIoFields,
};

using IoCounts = std::array<std::int64_t, kIoFields>;

// Parses /proc/PID/io (proc(5); Documentation/filesystems/proc.rst, 3.3). nullopt unless all six
// are there.
//
//   rchar: 6976
//   wchar: 0
//   syscr: 10
//   syscw: 0
//   read_bytes: 0
//   write_bytes: 0
//   cancelled_write_bytes: 0
std::optional<IoCounts> parse_pid_io(std::string_view text) noexcept;

}  // namespace probe
