#pragma once
// Slurm's spellings: its groups, and what it tells a job's processes in their environment.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "probe/cgroup_cpu.hpp"

namespace probe {

// The part of a group's path that ends with the job's directory; empty when Slurm didn't make it.
// https://slurm.schedmd.com/cgroup_v2.html ("Hierarchy overview"); with several slurmd on a node
// their name is part of "slurm" or "slurmstepd.scope". Version 1, then 2:
//
//   /slurm_n7/uid_1000/job_42/step_0/task_0                       -> /slurm_n7/uid_1000/job_42
//   /system.slice/n7_slurmstepd.scope/job_42/step_0/user/task_0   -> …_slurmstepd.scope/job_42
std::string_view slurm_job_path(std::string_view path) noexcept;

// What Slurm lets the job use on this node, from the environment of one of its processes.
struct SlurmWords {
  std::int64_t cores = kNoLimit;         // SLURM_CPUS_ON_NODE
  std::int64_t memory_bytes = kNoLimit;  // SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU for each core
  bool memory_by_core = false;
  // Words that are no numbers, as "SLURM_CPUS_ON_NODE=24(x2)", printable and cut.
  std::vector<std::string> nonsense;
};

// Parses /proc/PID/environ (proc_pid_environ(5): "NAME=value", each ended by a zero byte). Memory
// is in MiB, 0 is all of the node. slurmd says SLURM_CPUS_ON_NODE to what it starts on a node;
// without that word the process is none of those (the shell of salloc, on a login node, gets the
// memory's words too), and nothing counts.
//
//   SLURM_CPUS_ON_NODE=4<0>SLURM_MEM_PER_CPU=2000<0>
SlurmWords parse_slurm_environment(std::string_view text);

}  // namespace probe
