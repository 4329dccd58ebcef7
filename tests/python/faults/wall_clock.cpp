// LD_PRELOAD: the wall clock of a process, ahead by as many seconds as stand in a file.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const int result = syscall(SYS_clock_gettime, clock, now);
  const char* path = getenv("WALL_CLOCK_AHEAD");
  if (result != 0 || clock != CLOCK_REALTIME || path == nullptr) return result;
  char text[32] = {};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return result;
  if (read(file, text, sizeof text - 1) > 0) now->tv_sec += atol(text);
  close(file);
  return result;
}
