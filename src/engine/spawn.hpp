#pragma once
// posix_spawn as the engine needs it; see Process::start.

#include <sys/types.h>

#include <string>
#include <vector>

namespace engine {

// What goes on the new process's descriptors; < 0 is closed there.
struct Inherited {
  int output = -1;   // 1
  int errors = -1;   // 2
  int channel = -1;  // 3
  int parent = -1;   // 4
};

// The new process's number. Throws base::Error{"cannot start", command[0], errno}.
pid_t spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
            const std::string& directory, const Inherited& inherited);

}  // namespace engine
