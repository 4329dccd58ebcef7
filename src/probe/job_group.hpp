#pragma once
// Which groups are the job's.

#include <string>
#include <vector>

#include "probe/cgroup.hpp"

namespace probe {

// One group of each hierarchy. One that isn't there() can't be read, or is the hierarchy's root.
struct JobGroups {
  Group cpu;
  Group usage;  // of CPU time: version 1 has a hierarchy for it
  Group memory;
  Group pids;
  Group io;
  Group unified;  // version 2, for pressure
  // The process's own up to the job's: version 1 counts kills in the group of the killed alone.
  std::vector<std::string> kill_directories;
  // The path of one of them, Slurm's if there is one; "": the process is in no job.
  std::string name;
};

// The job is what Slurm calls so in the path: the group job_N, or the one nearest to it whose files
// can be read. Where Slurm has no group of the process, the job is the process's own group
// (a container, a service, a session), unless that is the root.
JobGroups job_groups(const Cgroups& cgroups);

}  // namespace probe
