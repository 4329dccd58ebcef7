#pragma once
// Where the groups of a process lie: from /proc/PID/cgroup and /proc/self/mountinfo to directories.

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "probe/cgroup_mounts.hpp"
#include "probe/cgroup_path.hpp"

namespace probe {

// A group of one hierarchy, and from where on its ancestors can be seen.
struct Group {
  std::string mount;  // as opened, so below the root that a reader was given; empty: there is none
  std::string outer;  // the group at `mount`
  std::string below;  // from there to the group: "" or "/slurm/uid_7/job_42"
  bool unified = false;    // version 2
  bool own = true;         // false: what can be seen is only an ancestor of the process's group
  bool true_root = false;  // the group at `mount` is the hierarchy's root: it limits nothing

  [[nodiscard]] bool there() const noexcept { return !mount.empty(); }
  [[nodiscard]] bool at_mount() const noexcept { return below.empty(); }
  [[nodiscard]] bool is_root() const noexcept { return true_root && at_mount(); }
  [[nodiscard]] std::string directory() const { return mount + below; }
  // As /proc/PID/cgroup spells it.
  [[nodiscard]] std::string path() const;
  // The parent, unless at_mount().
  void go_up();
};

// A file of a group as text, in one call: asked for its end, the kernel would count all anew. Empty
// on failure, ENODEV when the group is gone. The view is into `buffer`; 4 KiB hold most files.
std::string_view read_control(const base::File& file, std::span<char> buffer) noexcept;

class Cgroups {
 public:
  Cgroups() = default;
  // Looks once. `root`: where proc/ and sys/ lie. Mounts are those that this process sees, not
  // `pid`: a container's would be read as if they were ours.
  Cgroups(const std::string& root, pid_t pid);

  // Looks again (4 us); true when the process has been moved. Allocates only then. Nothing changes
  // when the process is ending: a zombie is shown in the root of each version 1 hierarchy.
  bool look(std::span<char> buffer);
  // Grows with each move.
  [[nodiscard]] std::uint32_t moves() const noexcept { return moves_; }

  // The group that `controller` rules the process by, in version 1 or 2. A path that lies outside
  // of what is mounted (containers) gives the group at the mount.
  [[nodiscard]] Group find(Controller controller) const;
  // Its group in the version 2 hierarchy, whatever is controlled there.
  [[nodiscard]] Group find_unified() const;

 private:
  [[nodiscard]] bool is_ending() const;
  template <typename Fits>
  [[nodiscard]] Group place(std::string_view path, Fits fits) const;

  std::string root_;
  pid_t pid_ = 0;
  base::File file_;
  std::string text_;
  std::vector<CgroupMount> mounts_;
  std::uint32_t moves_ = 0;
};

}  // namespace probe
