#include "probe/job_group.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "probe/slurm.hpp"

namespace probe {
namespace {

bool readable(const Group& group, const char* file) {
  return ::access((group.directory() + "/" + file).c_str(), R_OK) == 0;
}

// From the process's own group up to Slurm's job_N, as far as it is visible.
std::vector<Group> up_to_job(const Group& own) {
  std::vector<Group> groups{own};
  const std::size_t job = slurm_job_path(own.path()).size();
  if (job == 0) return groups;
  while (!groups.back().at_mount() && groups.back().path().size() > job) {
    groups.push_back(groups.back());
    groups.back().go_up();
  }
  return groups;
}

// `file`: one that the group must have.
Group pick(const Group& own, const char* file) {
  if (!own.there() || !own.own || own.is_root()) return {};
  const auto groups = up_to_job(own);
  const auto found = std::find_if(groups.rbegin(), groups.rend(),
                                  [&](const auto& g) { return readable(g, file); });
  return found == groups.rend() ? own : *found;
}

}  // namespace

JobGroups job_groups(const Cgroups& cgroups) {
  const auto find = [&](Controller controller, const char* file_v1, const char* file_v2) {
    const Group own = cgroups.find(controller);
    return pick(own, own.unified ? file_v2 : file_v1);
  };
  JobGroups job;
  job.memory = find(Controller::kMemory, "memory.usage_in_bytes", "memory.current");
  job.cpu = find(Controller::kCpu, "cpu.stat", "cpu.stat");
  job.usage = find(Controller::kCpuacct, "cpuacct.usage", "cpu.stat");
  job.pids = find(Controller::kPids, "pids.current", "pids.current");
  job.io = find(Controller::kIo, "blkio.throttle.io_service_bytes", "io.stat");
  job.unified = pick(cgroups.find_unified(), "cpu.pressure");

  const std::array<Group*, 6> groups{&job.memory, &job.cpu, &job.usage,
                                     &job.pids,   &job.io,  &job.unified};
  std::vector<std::string> paths;
  for (const Group* group : groups) {
    if (group->there()) paths.push_back(group->path());
  }
  // Slurm may rule cores only: then its cpuset tells the name.
  const Group cpuset = cgroups.find(Controller::kCpuset);
  if (cpuset.there() && cpuset.own && !cpuset.is_root()) paths.push_back(cpuset.path());
  const auto of_slurm = [](std::string_view path) { return !slurm_job_path(path).empty(); };
  const auto slurm = std::ranges::find_if(paths, of_slurm);
  if (slurm != paths.end()) {
    job.name = slurm_job_path(*slurm);
    // Other hierarchies may hold slurmd's own group: that of all jobs.
    for (Group* group : groups) {
      if (group->there() && !of_slurm(group->path())) *group = Group();
    }
  } else if (!paths.empty()) {
    job.name = paths.front();
  }

  if (job.memory.unified) {
    job.kill_directories = {job.memory.directory()};
  } else if (job.memory.there()) {
    for (const auto& group : up_to_job(cgroups.find(Controller::kMemory))) {
      job.kill_directories.push_back(group.directory());
    }
  }
  return job;
}

}  // namespace probe
