#pragma once
// How a kernel's sampler is started: `jumper sample` with descriptors that it inherits.
// The other side is src/tools/sample.cpp.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "watch/watch.hpp"

namespace watch {

// The numbers of this process's descriptors, -1 where there is none.
struct Inherited {
  int socket = -1;
  int recording = -1;
  int root_pidfd = -1;
  int spill = -1;  // where the recording goes on in memory, from `spill_offset` on
  std::int64_t spill_offset = 0;
};

struct SamplerCommand {
  std::vector<std::string> arguments;  // argv[0] included
  std::vector<int> descriptors;        // as 3, 4, 5 … there
};

SamplerCommand sampler_command(const WatchOptions& options, pid_t root, double rate_hz,
                               const Inherited& inherited);

}  // namespace watch
