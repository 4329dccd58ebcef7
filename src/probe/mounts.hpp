#pragma once
// Which file system a path is on, from the kernel's list alone: nothing here touches one that may
// not answer.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace probe {

struct Mount {
  std::string device;  // "8:1": the same for each mount of one file system
  std::string point;   // where it is mounted
  std::string type;    // "ext4", "nfs4"
};

// Parses a line of /proc/PID/mountinfo (proc_pid_mountinfo(5)). nullopt when it is none. Blanks,
// tabs, line ends and backslashes of the mount point are written as octal numbers ("\040").
//
//   27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
//
// The fields: number, parent, device, root within the file system, mount point, options, any number
// of tags, a hyphen, type, source, options of the file system.
std::optional<Mount> parse_mount(std::string_view line);

// All of a text, in order: later ones lie on top of earlier ones.
std::vector<Mount> parse_mounts(std::string_view text);

// The mount that `path` (absolute, without links) is on; nullptr when there is none.
const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path) noexcept;

// `path` with its symbolic links followed below `root`, as far as they lie on file systems of this
// machine: those of a server or a user's program might never answer, so what is on them stays as it
// is written.
std::string follow_local_links(const std::string& root, std::string_view path,
                               const std::vector<Mount>& mounts);

}  // namespace probe
