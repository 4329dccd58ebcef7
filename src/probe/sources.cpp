#include "probe/sources.hpp"

#include <exception>

#include "probe/drm_gpus.hpp"
#include "probe/file_systems.hpp"
#include "probe/gpu.hpp"
#include "probe/job.hpp"
#include "probe/network.hpp"
#include "probe/pressure.hpp"
#include "probe/users.hpp"

namespace probe {

std::vector<std::unique_ptr<Source>> make_sources(const SamplerOptions& options,
                                                  const Capacity& capacity, const Listing& listing,
                                                  MissingList& missing) {
  std::vector<std::unique_ptr<Source>> sources;
  const auto add = [&](std::string_view what, auto make) {
    try {
      sources.push_back(make());
    } catch (const std::exception&) {
      missing.say(what, record::State::kNotSupported, "no memory or no thread was left for it");
    }
  };

  if (options.user_level) {
    add("user", [&] {
      return std::make_unique<Users>(options.root, options.root_pid, listing, capacity, missing);
    });
  }
  if (options.node_level || options.job_level) {
    add("node.network", [&] {
      const Network::Levels levels{options.node_level, options.process_level, options.job_level};
      return std::make_unique<Network>(options.root, options.root_pid, levels, missing);
    });
  }
  if (options.node_level) {
    add("node.pressure", [&] { return std::make_unique<Pressure>(options.root, missing); });
    add("node.file_systems", [&] {
      const auto places = usual_places(options.root, options.root_pid);
      return std::make_unique<FileSystems>(options.root, options.root_pid, places, missing);
    });
  }
  if (options.node_level || options.process_level) {
    add("node.drm", [&] {
      const DrmOptions drm{options.root, options.node_level, options.process_level};
      return std::make_unique<DrmGpus>(drm, missing);
    });
  }
  // The driver is this machine's: a captured tree has none.
  if (options.root == "/" && (options.node_level || options.process_level)) {
    add("node.gpu", [&] {
      GpuOptions gpu;
      gpu.root_pid = options.root_pid;
      gpu.levels = {options.node_level, options.process_level};
      return std::make_unique<Gpus>(gpu, missing);
    });
  }
  if (options.job_level) {
    add("job", [&] { return std::make_unique<Job>(options.root, capacity, missing); });
  }
  return sources;
}

}  // namespace probe
