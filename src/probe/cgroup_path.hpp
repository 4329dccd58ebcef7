#pragma once
// /proc/PID/cgroup: which group of each hierarchy a process is in, as text.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace probe {

// What a hierarchy controls. In version 2 kCpu and kCpuacct are one.
enum class Controller : std::uint8_t { kCpu, kCpuacct, kMemory, kPids, kIo, kCpuset };

inline constexpr std::array<std::string_view, 6> kControllerNamesV1{"cpu",  "cpuacct", "memory",
                                                                    "pids", "blkio",   "cpuset"};

constexpr std::string_view name_v1(Controller controller) noexcept {
  return kControllerNamesV1[static_cast<std::size_t>(controller)];
}

// True when `name` is one of `list` ("rw,cpu,cpuacct").
bool is_listed(std::string_view list, std::string_view name) noexcept;

// The path of the group in the version 1 hierarchy that has `controller`; empty when no line has
// it. cgroups(7), "/proc files":
//
//   5:cpu,cpuacct:/slurm/uid_1000/job_42/step_0/task_0
std::string_view parse_cgroup_v1(std::string_view text, std::string_view controller) noexcept;

// The path of the group in the version 2 hierarchy; empty when there is no such line.
//
//   0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0
std::string_view parse_cgroup_v2(std::string_view text) noexcept;

}  // namespace probe
