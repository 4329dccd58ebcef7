// System calls and rights, each tried: a container's seccomp filter, a paranoid kernel or an old
// one refuses some of them.

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/memory.hpp"
#include "base/process.hpp"
#include "base/socket.hpp"
#include "tools/doctor.hpp"
#include "tools/doctor_apart.hpp"

namespace tools {
namespace {

constexpr int kMostMsToStart = 2000;

std::optional<int> number_of(const std::string& path) {
  const auto text = base::read_small_file(path, 64);
  int number = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

// "Seccomp:\t2" of /proc/PID/status: a filter decides about each call (proc_pid_status(5)).
bool is_filtered(const std::string& root) {
  const auto status = base::read_small_file(root + "/proc/self/status", 1 << 14);
  return status && status->find("\nSeccomp:\t2") != status->npos;
}

// What would help where the system refuses a call.
std::string remedy_for(int error, std::string_view call, const Subject& subject) {
  if (error == ENOSYS) {
    return fmt::format("a newer Linux, or a container runtime that knows {}", call);
  }
  if (is_filtered(subject.root)) {
    return fmt::format("allow {} in the seccomp profile of the container or job", call);
  }
  return fmt::format("ask the administrator who forbids {} here", call);
}

std::string refused(int error, std::string_view consequence) {
  return fmt::format("{} (errno {}): {}", base::errno_text(error), error, consequence);
}

void check_hidden_start(const Subject& subject, Sheet& sheet) {
  constexpr const char* kWhat = "start of the sampler";
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // so that it doesn't stay behind as somebody's zombie
  try {
    const auto child = base::start_hidden(subject.program, {"jumper", "--version"}, {});
    int status = -1;
    pid_t reaped = 0;
    for (int waited = 0; waited < kMostMsToStart && reaped == 0; ++waited) {
      reaped = ::waitpid(child.pid, &status, WNOHANG);
      if (reaped == 0) ::poll(nullptr, 0, 1);
    }
    if (reaped == 0) {
      ::kill(child.pid, SIGKILL);
      ::waitpid(child.pid, nullptr, 0);
    }
    if (reaped == child.pid && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      sheet.ok(kWhat, "works, hidden from the notebook's own children");
    } else {
      sheet.missing(kWhat, "it started, but didn't end well", "reinstall jumper-hpc");
    }
  } catch (const base::Error& error) {
    sheet.missing(kWhat, std::string(error.what()) + ": nothing would be sampled",
                  remedy_for(error.code(), "clone and execve", subject));
  }
}

void check_socket(const Subject& subject, Sheet& sheet) {
  constexpr const char* kWhat = "socket pair";
  try {
    const auto [one, other] = base::make_socket_pair();
    std::array<char, 16> buffer{};
    const bool sent = base::send_message(one.fd(), "x", one.fd()) == base::SendResult::kSent;
    const auto received = base::receive_message(other.fd(), buffer);
    if (sent && received.size == 1 && received.descriptor.valid()) {
      return sheet.ok(kWhat, "carries messages and descriptors");
    }
    sheet.missing(kWhat, "no descriptor can be passed: the sampler can't be told of cells");
  } catch (const base::Error& error) {
    sheet.missing(kWhat, error.what(), remedy_for(error.code(), "socketpair", subject));
  }
}

void check_memfd(const Subject& subject, Sheet& sheet) {
  constexpr const char* kWhat = "memfd_create, seals";
  if (!base::make_memfd("jumper-doctor").valid()) {
    const int error = errno;
    sheet.limited(kWhat,
                  refused(error,
                          "no recording in memory when no folder can be used; the code of "
                          "cells over 32 kB is cut"),
                  remedy_for(error, "memfd_create", subject));
    return;
  }
  const base::File sealed = base::make_sealed_memfd("jumper-doctor", "x");
  if (sealed.valid() && base::is_sealed(sealed.fd())) {
    return sheet.ok(kWhat, "memory can be shared and sealed");
  }
  sheet.limited(kWhat, "memory can't be sealed: the code of cells over 32 kB is cut",
                "Linux 3.17 or newer");
}

void check_pidfd(const Subject& subject, const Bystander& child, Sheet& sheet) {
  const base::File pidfd = base::open_pidfd(child.pid());
  if (!pidfd.valid()) {
    const int error = errno;
    sheet.limited("pidfd_open",
                  refused(error,
                          "the sampler looks twice a second whether the kernel still runs; "
                          "why it died may stay unknown"),
                  remedy_for(error, "pidfd_open", subject));
    return;
  }
  sheet.ok("pidfd_open", "the end of a kernel is seen at once");
  if (::syscall(SYS_pidfd_send_signal, pidfd.fd(), 0, nullptr, 0) == 0) {
    return sheet.ok("pidfd_send_signal", "a sampler that hangs can be ended");
  }
  const int error = errno;
  sheet.limited("pidfd_send_signal", refused(error, "a sampler that hangs can't be ended"),
                remedy_for(error, "pidfd_send_signal", subject));
}

void check_readv(const Subject& subject, const Bystander& child, Sheet& sheet) {
  static const std::array<char, 8> there{'j', 'u', 'm', 'p', 'e', 'r', '!', '\n'};
  std::array<char, 8> here{};
  const iovec local{here.data(), here.size()};
  // A forked child has it at the same place.
  const iovec remote{const_cast<char*>(there.data()), there.size()};
  const ssize_t size = ::process_vm_readv(child.pid(), &local, 1, &remote, 1, 0);
  if (size == static_cast<ssize_t>(here.size()) && here == there) {
    return sheet.ok("process_vm_readv", "reads the memory of an own child");
  }
  const int error = errno;
  sheet.limited("process_vm_readv",
                refused(error,
                        "off: the faster way to carry a notebook's variables to another "
                        "process (a later feature; shared memory is used instead)"),
                remedy_for(error, "process_vm_readv", subject));
}

void check_ptrace(const Subject& subject, const Bystander& child, Sheet& sheet) {
  if (::ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr) == 0) {
    sheet.ok("ptrace", "own children may be traced");
  } else {
    const int error = errno;
    sheet.limited("ptrace",
                  refused(error,
                          "debuggers and native tracers can't attach; measuring doesn't "
                          "need it"),
                  remedy_for(error, "ptrace", subject));
  }
  // Documentation/admin-guide/LSM/Yama.rst
  const auto scope = number_of(subject.root + "/proc/sys/kernel/yama/ptrace_scope");
  if (!scope) {
    sheet.ok("ptrace scope", "yama isn't active: own processes may look into each other");
  } else if (*scope <= 1) {
    sheet.ok("ptrace scope", *scope == 0 ? "0: own processes may look into each other"
                                         : "1: own descendants, and who is named by prctl");
  } else {
    sheet.limited("ptrace scope",
                  fmt::format("kernel.yama.ptrace_scope is {}: {} may look into another process",
                              *scope, *scope == 2 ? "only administrators" : "nobody"),
                  "ask the administrator for 1");
  }
}

int open_counter(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attributes{};
  attributes.type = type;
  attributes.size = sizeof attributes;
  attributes.config = config;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.disabled = 1;
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

void check_perf(const Subject& subject, Sheet& sheet) {
  constexpr int kWanted = 2;
  const base::File clock(open_counter(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK));
  const int error = errno;
  const auto level = number_of(subject.root + "/proc/sys/kernel/perf_event_paranoid");
  if (!clock.valid()) {
    // Above 2, an extension of Debian, Ubuntu and others, everything is forbidden.
    const bool paranoid = level && *level > kWanted && (error == EACCES || error == EPERM);
    if (paranoid) {
      sheet.limited(
          "perf_event_open",
          fmt::format("kernel.perf_event_paranoid is {}: hardware counters are off", *level),
          fmt::format("ask the administrator for {}", kWanted));
    } else {
      sheet.limited("perf_event_open", refused(error, "hardware counters are off"),
                    remedy_for(error, "perf_event_open", subject));
    }
    return;
  }
  sheet.ok("perf_event_open",
           level ? fmt::format("works; kernel.perf_event_paranoid is {}", *level) : "works");
  const base::File counter(open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS));
  if (counter.valid()) return sheet.ok("hardware counters", "instructions can be counted");
  const int reason = errno;
  const bool absent = reason == ENOENT || reason == ENODEV || reason == EOPNOTSUPP;
  sheet.limited("hardware counters",
                absent ? "this machine shows none; virtual machines often don't"
                       : refused(reason, "they are off"),
                absent ? "" : remedy_for(reason, "perf_event_open", subject));
}

void check_seccomp(const Subject& subject, Sheet& sheet) {
  sheet.ok("seccomp", is_filtered(subject.root)
                          ? "a filter is active (a container, a job or a service has set it)"
                          : "no filter");
}

}  // namespace

void check_calls(const Subject& subject, Sheet& sheet) {
  check_hidden_start(subject, sheet);
  check_socket(subject, sheet);
  check_memfd(subject, sheet);
  check_seccomp(subject, sheet);
  const Bystander child;
  if (child.pid() < 0) return sheet.limited("fork", "no process can be started to try the others");
  check_pidfd(subject, child, sheet);
  check_readv(subject, child, sheet);
  check_perf(subject, sheet);
  check_ptrace(subject, child, sheet);
}

}  // namespace tools
