#pragma once
// /proc/vmstat: what went between block devices and memory.

#include <cstdint>
#include <optional>
#include <string_view>

namespace probe {

struct Storage {
  std::optional<std::int64_t> read_bytes;
  std::optional<std::int64_t> write_bytes;
};

// Parses pgpgin and pgpgout of /proc/vmstat (proc(5); counted by submit_bio() in
// block/blk-core.c, shown in KiB). Chosen over /proc/diskstats because each request is counted
// once, where it is submitted: the lines of diskstats repeat a partition's traffic in its disk, and
// a logical volume's in every device below it. (A loop device's file is read a second time, and is
// counted so.) Network file systems aren't block devices.
//
//   pgpgin 1176885
//   pgpgout 934876
Storage parse_vmstat(std::string_view text) noexcept;

}  // namespace probe
