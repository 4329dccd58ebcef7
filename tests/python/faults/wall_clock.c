// LD_PRELOAD: the wall clock of a process, ahead by as many seconds as stand in a file.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int result = (int)syscall(SYS_clock_gettime, clock, now);
  const char* path = getenv("WALL_CLOCK_AHEAD");
  if (result != 0 || clock != CLOCK_REALTIME || path == NULL) return result;
  char text[32] = {0};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return result;
  if (read(file, text, sizeof text - 1) > 0) now->tv_sec += atol(text);
  close(file);
  return result;
}
