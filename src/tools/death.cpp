#include "tools/death.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <charconv>
#include <string_view>

#include "base/clock.hpp"
#include "base/file.hpp"

namespace tools {
namespace {

// struct pidfd_info of Linux 6.15, declared here because the system's headers are older.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup_id = 0;
  std::uint32_t pid = 0, tgid = 0, ppid = 0;
  std::uint32_t ruid = 0, rgid = 0, euid = 0, egid = 0, suid = 0, sgid = 0, fsuid = 0, fsgid = 0;
  std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64, "PIDFD_INFO_SIZE_VER0");
constexpr std::uint64_t kInfoExit = 1U << 3;                    // PIDFD_INFO_EXIT
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);  // PIDFD_GET_INFO

constexpr int kStateField = 3;  // counted from 1, as proc_pid_stat(5) does
constexpr int kStartTimeField = 22;
constexpr int kExitCodeField = 52;

}  // namespace

int zombie_wait_status(std::string_view stat, std::int64_t start_ticks) noexcept {
  // "4711 (any (text) here) Z 1 …": the command's name ends at the last ')'.
  const auto name_end = stat.rfind(')');
  if (name_end == stat.npos || name_end + 2 >= stat.size()) return -1;
  std::string_view rest = stat.substr(name_end + 2);
  char state = ' ';
  std::int64_t start = -1;
  for (int field = kStateField; !rest.empty(); ++field) {
    const std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
    if (field == kStateField && !word.empty()) state = word.front();
    if (field == kStartTimeField) std::from_chars(word.data(), word.data() + word.size(), start);
    if (field == kExitCodeField) {
      int status = -1;
      std::from_chars(word.data(), word.data() + word.size(), status);
      const bool meant = state == 'Z' && start >= 0 && start == start_ticks;
      return meant && status >= 0 ? status : -1;
    }
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return -1;
}

record::End end_from_wait_status(int status) {
  record::End end;
  end.time_ns = base::monotonic_ns();
  if (WIFEXITED(status)) {
    end.cause = record::EndCause::kExited;
    end.detail = WEXITSTATUS(status);
  } else if (WIFSIGNALED(status)) {
    end.cause = record::EndCause::kKilled;
    end.detail = WTERMSIG(status);
  } else {
    end.cause = record::EndCause::kUnknown;
  }
  return end;
}

record::End end_of(pid_t pid, std::int64_t start_ticks, int pidfd) {
  if (const auto stat = base::read_small_file(fmt::format("/proc/{}/stat", pid), 4096)) {
    const int status = zombie_wait_status(*stat, start_ticks);
    if (status >= 0) return end_from_wait_status(status);
  }
  PidfdInfo info;
  info.mask = kInfoExit;
  if (pidfd >= 0 && ::ioctl(pidfd, kGetInfo, &info) == 0 && (info.mask & kInfoExit) != 0) {
    return end_from_wait_status(info.exit_code);
  }
  record::End end;
  end.time_ns = base::monotonic_ns();
  end.cause = record::EndCause::kUnknown;
  return end;
}

}  // namespace tools
