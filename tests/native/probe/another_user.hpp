#pragma once
// Processes of a user whom nobody else uses, so that a test knows all of them. Root only.

#include <grp.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

namespace probe {

// One for each process that runs tests, and each number. (Asked by the test, not by its children.)
inline uid_t made_up_user(unsigned number = 0) {
  return 1'000'000'000 + 100 * static_cast<uid_t>(::getpid()) + number;
}

// In a process of the play, before it has threads. What it may be looked into stays as it was.
inline void become(uid_t user) {
  if (::setgroups(0, nullptr) != 0 || ::setgid(user) != 0 || ::setuid(user) != 0) ::_exit(9);
  ::prctl(PR_SET_DUMPABLE, 1);
}

}  // namespace probe
