#pragma once
// What the NFS client counts of each mount: /proc/PID/mountstats.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace probe {

// By the calls of programs; then what really went to the server and came from it; then remote
// calls: those that were made, sent again, timed out, failed, and how long their answers took.
inline constexpr std::array<std::string_view, 9> kMountCounts{
    "read_bytes", "write_bytes", "server_read_bytes", "server_write_bytes", "calls", "resent",
    "timeouts",   "errors",      "answer_ms"};
using MountCounts = std::array<std::int64_t, kMountCounts.size()>;

struct NfsMount {
  std::string device;  // "server:/export"
  MountCounts counts{};
};

// nfs_show_stats() in fs/nfs/super.c and rpc_clnt_show_stats() in net/sunrpc/stats.c:
//
//   device server:/export mounted on /home with fstype nfs4 statvers=1.1
//     bytes:  4096 0 0 0 4096 0 1 0
//     per-op statistics
//           READ: 1 1 0 212 4188 0 3 3 0
//
// `bytes`: read and written by calls, the same by direct ones, read from and written to the
// server. Of each operation: calls, transmissions, time-outs, bytes sent, bytes received, ms in
// the queue, ms until the answer, ms altogether, and since Linux 5.3 errors. Mounts of one device
// share what is counted: they are one. At most 256 of them.
std::vector<NfsMount> parse_mountstats(std::string_view text);

}  // namespace probe
