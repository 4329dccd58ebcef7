#pragma once
// What a Lustre client counts of each file system that is mounted.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace probe {

// What is counted. The first two are bytes, the others calls.
inline constexpr std::array<std::string_view, 16> kLustreCounts{
    "read_bytes", "write_bytes", "reads",    "writes",  "opens",   "closes",  "seeks",  "fsyncs",
    "getattrs",   "setattrs",    "readdirs", "creates", "unlinks", "renames", "mkdirs", "rmdirs"};
using LustreCounts = std::array<std::int64_t, kLustreCounts.size()>;

// The file llite/FSNAME-ID/stats, as lprocfs_stats_seq_show() writes it (lustre/obdclass,
// lprocfs_status.c; "Monitoring Client Activity" in the Lustre Operations Manual): a line for each
// thing that has happened at least once, so one without a line is 0.
//
//   snapshot_time             1596728874.484750908 secs.nsecs
//   read_bytes                6 samples [bytes] 4 4194304 8388612
//   open                      14 samples [usec] 0 20 160 1000
//
// nullopt for what isn't such a file.
std::optional<LustreCounts> parse_lustre_stats(std::string_view text) noexcept;

struct LustreMount {
  std::string file_system;  // "work" of "work-ffff8803ad4fb800"
  LustreCounts counts{};
};

// All mounts that can be read, under proc/fs/lustre and (since Lustre 2.12)
// sys/kernel/debug/lustre below `root`. `refused` becomes true when some can't be.
std::vector<LustreMount> read_lustre(const std::string& root, bool& refused);

}  // namespace probe
