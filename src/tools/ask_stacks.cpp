#include "tools/ask_stacks.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <memory>

#include "base/file.hpp"
#include "base/process.hpp"

namespace tools {
namespace {

enum class Holds { kYes, kNo, kRefused, kGone };

// Whether the process has the file open.
Holds holds(pid_t pid, const base::FileIdentity& file) {
  struct Closes {
    void operator()(DIR* folder) const noexcept { ::closedir(folder); }
  };
  const std::string path = fmt::format("/proc/{}/fd", pid);
  const std::unique_ptr<DIR, Closes> folder(::opendir(path.c_str()));
  if (!folder) return errno == EACCES || errno == EPERM ? Holds::kRefused : Holds::kGone;
  while (const dirent* entry = ::readdir(folder.get())) {
    struct stat found{};
    if (::fstatat(::dirfd(folder.get()), entry->d_name, &found, 0) != 0) {
      if (errno == EACCES || errno == EPERM) return Holds::kRefused;
      continue;
    }
    if (base::FileIdentity{found.st_dev, found.st_ino} == file) return Holds::kYes;
  }
  return Holds::kNo;
}

// Whether the process has a handler for the signal: any other would be ended by it. From
// proc_pid_status(5): "SigCgt:\t0000000180014a03", a bit for each signal, the first one lowest.
bool handles(pid_t pid, int signal) {
  constexpr std::string_view kName = "\nSigCgt:\t";
  const auto status = base::read_small_file(fmt::format("/proc/{}/status", pid));
  const std::size_t at = status ? status->find(kName) : std::string::npos;
  if (at == std::string::npos) return false;
  std::uint64_t caught = 0;
  std::from_chars(status->data() + at + kName.size(), status->data() + status->size(), caught, 16);
  return (caught >> static_cast<unsigned>(signal - 1) & 1U) != 0;
}

}  // namespace

std::string ask_for_stacks(const std::string& path, const record::Machine& machine) {
  const auto pid = static_cast<pid_t>(machine.sampler_pid);
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) {
    return fmt::format("nobody can be asked: '{}' is not there any more", path);
  }
  const base::File pidfd = pid > 0 ? base::open_pidfd(pid) : base::File();
  const auto not_there = [&] {
    return fmt::format(
        "its sampler (pid {}) is not there: it has ended, or it runs in another container or on "
        "another host",
        machine.sampler_pid);
  };
  if (!pidfd.valid()) {
    if (pid <= 0 || errno == ESRCH || errno == EINVAL) return not_there();
    return fmt::format("its sampler can't be asked here: {}", std::strerror(errno));
  }
  switch (holds(pid, {file.st_dev, file.st_ino})) {
    case Holds::kYes:
      break;
    case Holds::kRefused:
      return "only the user whose kernel it is, and root, can ask for its stacks";
    case Holds::kNo:
      return fmt::format(
          "process {} doesn't write this file: its sampler has ended, it runs in another "
          "container, or this is a copy",
          machine.sampler_pid);
    case Holds::kGone:
      return not_there();
  }
  if (!handles(pid, SIGUSR1)) return "its sampler takes no requests: it is of another version";
  // The number meant the process of the pidfd all the while, or that has ended and gets nothing.
  if (::syscall(SYS_pidfd_send_signal, pidfd.fd(), SIGUSR1, nullptr, 0) == 0) return "";
  if (errno == ESRCH) return not_there();
  return fmt::format("its sampler can't be asked: {}", std::strerror(errno));
}

}  // namespace tools
