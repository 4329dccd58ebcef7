// What the stand-in preloads. Each process that it comes into leaves its command line in
// STANDIN_LOG.loaded; recording on and off become lines of STANDIN_LOG itself.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

void say(const char* ending, const char* text) {
  const char* log = std::getenv("STANDIN_LOG");
  if (log == nullptr) return;
  char path[4096];
  std::snprintf(path, sizeof path, "%s%s", log, ending);
  std::FILE* file = std::fopen(path, "ae");
  if (file == nullptr) return;
  std::fputs(text, file);
  std::fclose(file);
}

__attribute__((constructor)) void loaded() {
  char line[512] = "";
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t size = read(file, line, sizeof line - 2);
  close(file);
  for (ssize_t i = 0; i < size; ++i) {
    if (line[i] == '\0') line[i] = ' ';
  }
  line[size > 0 ? size : 0] = '\n';
  say(".loaded", line);
}

}  // namespace

extern "C" {
// As Score-P ends a process whose memory for it is used up.
void standin_out_of_memory() {
  std::fputs(
      "[Score-P] src/measurement/SCOREP_Memory.c:178: Fatal: Out of memory. "
      "Please increase SCOREP_TOTAL_MEMORY=16384000 and try again.\n",
      stderr);
  std::abort();
}

void SCOREP_User_EnableRecording() { say("", "{\"what\": \"recording\", \"on\": true}\n"); }
void SCOREP_User_DisableRecording() { say("", "{\"what\": \"recording\", \"on\": false}\n"); }
}
