#include "bind/forking.hpp"

#include <nanobind/stl/pair.h>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace nb = nanobind;

namespace bind {
namespace {

// Whose handlers are the kernel's: in a copy of it they would act for the kernel.
constexpr std::array kOfTheKernel{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};

// os.fork(), but: silent where there are other threads (the copy has none of them and never needs
// them), it ends with this thread, and an interrupt is the kernel's alone. prctl(2). Returns its
// number and pidfd, in the child 0 and -1. pidfd_open(2): Linux 5.3.
std::pair<int, int> fork_worker() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t parent = getpid();
  PyOS_BeforeFork();
  const pid_t child = fork();
  int error = errno;
  int pidfd = -1;
  if (child == 0) {
    PyOS_AfterFork_Child();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (const int number : kOfTheKernel) std::signal(number, number == SIGINT ? SIG_IGN : SIG_DFL);
  } else {
    PyOS_AfterFork_Parent();
    if (child > 0) {
      pidfd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
      error = errno;
    }
    if (child > 0 && pidfd < 0) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child != 0 && pidfd < 0) {
    errno = error;
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
  }
  return {child, pidfd};
}

}  // namespace

void add_forking(nb::module_& module) { module.def("fork_worker", &fork_worker); }

}  // namespace bind
