// What a recording says about the machine it was made on.

#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "probe/job_group.hpp"
#include "probe/sampler.hpp"

namespace probe {
namespace {

// The one line of a file below /proc; empty when it can't be read.
std::string line_of(const std::string& root, const char* path) {
  auto text = base::read_small_file(root + "/proc/" + path, 4096);
  if (!text) return {};
  text->resize(std::min(text->find('\n'), text->size()));
  return *text;
}

}  // namespace

record::Machine Sampler::machine() const {
  record::Machine machine;
  machine.time_ns = base::monotonic_ns();
  machine.wall_offset_ns = base::wall_offset_ns();
  machine.host = line_of(options_.root, "sys/kernel/hostname");
  machine.boot_id = line_of(options_.root, "sys/kernel/random/boot_id");
  machine.kernel_release = line_of(options_.root, "sys/kernel/osrelease");
  machine.root_pid = options_.root_pid;
  machine.root_start_ticks = processes_.root_start_ticks();
  machine.uid = ::getuid();
  machine.cores_online = static_cast<std::int64_t>(capacity_.online().size());
  machine.memory_bytes = capacity_.memory_bytes();
  machine.affinity = capacity_.affinity();
  machine.process_source = capacity_.usable().source;
  machine.user_source = "online cores and memory of the node";
  machine.node_source = machine.user_source;
  if (options_.job_level && !job_groups(capacity_.cgroups()).name.empty()) {
    machine.job_source = machine.process_source;
  }
  return machine;
}

}  // namespace probe
