#pragma once
// How /proc is mounted.

#include <string>
#include <string_view>

namespace tools {

struct ProcMount {
  bool found = false;
  std::string hides;            // hidepid: "", "2", "invisible"
  std::string group;            // gid: who sees all the same
  bool only_processes = false;  // subset=pid
};

// The last mount of type proc at /proc in a mountinfo file, later ones lie over earlier ones.
// (proc_pid_mountinfo(5); options: Documentation/filesystems/proc.rst, 4.)
//
//   22 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw,gid=26,hidepid=2
ProcMount parse_proc_mount(std::string_view mountinfo);

}  // namespace tools
