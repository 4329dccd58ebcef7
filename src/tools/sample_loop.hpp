#pragma once
// The sampler's life: ticks on an absolute schedule, marks from the kernel, and the end of the
// root process. One thread ticks, another (Disk) writes.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tools/upkeep.hpp"

namespace tools {

struct LoopOptions {
  pid_t root_pid = 0;
  std::string label;  // of the recording; the kernel's Hello says it
  double rate_hz = 10.0;
  bool process_level = true;
  bool node_level = true;
  int socket_fd = -1;     // marks come in here, acknowledgements go out; not owned
  int recording_fd = -1;  // owned from here on
  int root_pidfd = -1;    // -1: the root is looked for twice a second
  int spill_fd = -1;      // where an earlier sampler went on when the disk was full
  std::int64_t spill_offset = 0;
  std::int64_t most_bytes = UpkeepOptions::kMostBytes;  // then the recording is thinned
  std::int64_t keep_days = -1;                          // of older recordings; -1: none is deleted
  std::int64_t keep_bytes = -1;
};

// Returns the exit status when the root process has ended, the kernel has closed the session (or
// its end of the socket), or SIGTERM came. Throws base::Error when it can't begin.
int run_sample_loop(const LoopOptions& options);

}  // namespace tools
