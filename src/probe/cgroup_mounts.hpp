#pragma once
// /proc/PID/mountinfo: where the hierarchies of cgroups can be seen.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace probe {

struct CgroupMount {
  std::string outer;     // the group that is seen at `point`: "/", in a container "/docker/3f…"
  std::string point;     // "/sys/fs/cgroup/memory"
  std::string options;   // of a version 1 hierarchy, its controllers among them: "rw,memory"
  bool unified = false;  // version 2
};

inline constexpr std::size_t kMostCgroupMounts = 256;

// The lines of type cgroup and cgroup2, in their order (later ones lie over earlier ones); no more
// than kMostCgroupMounts. proc_pid_mountinfo(5): number, parent, device, root, mount point, mount
// options, optional fields up to "-", type, source, options of the file system. Blank, tab, line
// end and backslash are written as octal ("\040").
//
//   35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
//   31 23 0:28 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - cgroup2 cgroup2 rw,nsdelegate
std::vector<CgroupMount> parse_mountinfo(std::string_view text);

}  // namespace probe
