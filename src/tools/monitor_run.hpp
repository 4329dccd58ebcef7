#pragma once
// Runs a custom monitor for a kernel: starts its command, and ends it when nobody reads what it
// prints any more, or the kernel has ended. `jumper monitor run`; the other side is
// src/watch/custom_monitors.cpp.

#include <string>
#include <vector>

namespace tools {

struct MonitorRun {
  int out = -1;         // the pipe to the sampler: becomes the command's standard output
  int root_pidfd = -1;  // the kernel; -1: by its number
  int root_pid = 0;
  int input = -1;         // becomes its standard input; -1: /dev/null
  double rate_hz = 1;     // JUMPER_MONITOR_RATE there
  std::string directory;  // where it runs
  std::vector<std::string> command;
};

// Returns when the command has ended, by itself or by us; by itself: then {"end": REASON} is
// printed to `out`, with its exit status and its last line on standard error. What it has left
// running in its process group is killed.
int run_monitor(const MonitorRun& options);

}  // namespace tools
