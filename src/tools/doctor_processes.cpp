// What /proc shows of processes: of an own child, and of the others.

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "tools/doctor.hpp"
#include "tools/doctor_apart.hpp"
#include "tools/doctor_mount.hpp"

namespace tools {
namespace {

constexpr std::size_t kMostMountBytes = 1 << 20;

struct ChildFile {
  const char* what;
  const char* path;  // below /proc/PID
  const char* holds;
  const char* consequence;
};

constexpr ChildFile kFiles[] = {
    {"io of own processes", "/io", "reads and writes are counted",
     "no I/O is measured at level process"},
    {"smaps_rollup", "/smaps_rollup", "proportional sizes are measured",
     "memory is the sum of resident sizes: shared pages count more than once"},
    {"children", "/children", "new processes are found at once",
     "new processes are found by listing all of /proc, which costs more"},
};

std::string read_error(const std::string& path) {
  if (base::read_small_file(path)) return {};
  return base::errno_text(errno);
}

void check_child_files(const Subject& subject, const Bystander& child, Sheet& sheet) {
  const std::string folder = fmt::format("{}/proc/{}", subject.root, child.pid());
  for (const ChildFile& file : kFiles) {
    const bool of_thread = std::string_view(file.what) == "children";
    const std::string path = of_thread ? fmt::format("{}/task/{}{}", folder, child.pid(), file.path)
                                       : folder + file.path;
    const std::string error = read_error(path);
    if (error.empty()) {
      sheet.ok(file.what, file.holds);
    } else {
      sheet.limited(file.what, fmt::format("{}: {}", error, file.consequence),
                    "ask for a Linux kernel that is built with it");
    }
  }
}

void check_cpu_clock(const Bystander& child, Sheet& sheet) {
  if (base::process_cpu_time_ns(child.pid()) >= 0) {
    return sheet.ok("CPU clock of processes", "counts nanoseconds");
  }
  sheet.limited("CPU clock of processes", base::errno_text(errno) + ": CPU time counts in 10 ms");
}

void check_mount(const Subject& subject, Sheet& sheet) {
  const auto mounts = base::read_small_file(subject.root + "/proc/self/mountinfo", kMostMountBytes);
  if (!mounts) {
    return sheet.missing("/proc", base::errno_text(errno) + ": nothing can be measured",
                         "mount /proc");
  }
  const ProcMount proc = parse_proc_mount(*mounts);
  if (!proc.found) return sheet.ok("/proc", "its options are unknown");
  if (proc.only_processes) {
    sheet.limited("/proc", "mounted with subset=pid: nothing of the node is measured",
                  "ask the administrator to mount /proc without subset=pid");
  }
  const bool hides = !proc.hides.empty() && proc.hides != "0" && proc.hides != "off";
  const bool affected =
      hides && !base::read_small_file(subject.root + "/proc/1/status", 64) && ::geteuid() != 0;
  if (affected) {
    sheet.limited("/proc",
                  fmt::format("mounted with hidepid={}: processes of other users are hidden, the "
                              "node's aren't counted; your own are seen",
                              proc.hides),
                  proc.group.empty() ? "" : "members of the group " + proc.group + " see them");
  } else if (!proc.only_processes) {
    sheet.ok("/proc", hides ? "mounted with hidepid=" + proc.hides + ", but not for this user"
                            : "shows the processes of all users");
  }
}

// Orphans become children of process 1, and so does the sampler, which nobody else may reap.
void check_first_process(const Subject& subject, Sheet& sheet) {
  if (subject.pid != 1) return;
  sheet.limited("process 1",
                "the notebook's process is the first of its container: it gets the "
                "sampler as a child, and every other orphan, too",
                "start the container with an init (docker run --init)");
}

}  // namespace

void check_processes(const Subject& subject, Sheet& sheet) {
  check_mount(subject, sheet);
  check_first_process(subject, sheet);
  const Bystander child;
  if (child.pid() < 0) return sheet.limited("fork", "no process can be started to look at");
  check_cpu_clock(child, sheet);
  check_child_files(subject, child, sheet);
}

}  // namespace tools
