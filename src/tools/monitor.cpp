// `jumper monitor`: the custom monitors that come with JUmPER, which are examples of what one
// prints (docs/monitors.md), and what runs one for a kernel.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <ctime>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "probe/lustre.hpp"
#include "probe/mountstats.hpp"
#include "tools/monitor_run.hpp"
#include "tools/verbs.hpp"

namespace tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostMountstatsBytes = 4U << 20;
constexpr std::size_t kMostFileSystems = 8;  // that have figures of their own
constexpr std::size_t kByteCounts = 2;       // of kLustreCounts

struct PrintOptions {
  std::string root;
  double rate_hz = 1;
  long count = 0;  // 0: until nobody reads it
};

// One number for each metric that was named, by its name.
using Counts = std::map<std::string, std::int64_t>;

std::string unit_of_count(const std::string& name) {
  return name.ends_with("_bytes") ? "bytes" : name.ends_with("_ms") ? "ms" : "";
}

bool print(const Json& line) { return base::write_all(STDOUT_FILENO, line.dump() + "\n"); }

// What `read` gives now are the metrics; later ones that weren't there then are left out.
template <typename Read>
int print_counts(const PrintOptions& options, Read read) {
  const Counts first = read();
  Json metrics = Json::array();
  for (const auto& [name, number] : first) {
    metrics.push_back(
        {{"name", name}, {"unit", unit_of_count(name)}, {"kind", "counter"}, {"level", "node"}});
  }
  if (!print({{"metrics", metrics}})) return errno == EPIPE ? 0 : 1;
  const auto period_ns = static_cast<std::int64_t>(1e9 / options.rate_hz);
  for (long printed = 0; options.count == 0 || printed < options.count; ++printed) {
    const std::int64_t time_ns = base::monotonic_ns();
    const Counts now = printed == 0 ? first : read();
    Json values = Json::object();
    for (const auto& [name, number] : first) {
      const auto found = now.find(name);
      values[name] = found == now.end() ? Json(nullptr) : Json(found->second);
    }
    if (!print({{"values", values}, {"t_ns", time_ns}})) return errno == EPIPE ? 0 : 1;
    if (options.count != 0 && printed + 1 == options.count) break;
    const timespec wait{period_ns / 1'000'000'000, period_ns % 1'000'000'000};
    ::nanosleep(&wait, nullptr);
  }
  return 0;
}

// The sum of all, and what is read and written of each where there are several.
Counts lustre_counts(const std::string& root) {
  bool refused = false;
  const auto mounts = probe::read_lustre(root, refused);
  Counts sums;
  Counts single;
  std::set<std::string> names;
  for (const probe::LustreMount& mount : mounts) {
    if (names.size() < kMostFileSystems) names.insert(mount.file_system);
    for (std::size_t i = 0; i < mount.counts.size(); ++i) {
      const std::string name(probe::kLustreCounts[i]);
      sums[name] += mount.counts[i];
      if (i < kByteCounts && names.contains(mount.file_system)) {
        single[mount.file_system + '_' + name] += mount.counts[i];
      }
    }
  }
  if (mounts.empty()) {
    throw base::Error("cannot read", "/proc/fs/lustre/llite",
                      refused ? "the system keeps this client's figures for root"
                              : "no Lustre file system is mounted here");
  }
  if (names.size() > 1) sums.merge(single);
  return sums;
}

Counts mount_counts(const std::string& root) {
  const auto text = base::read_small_file(root + "/proc/self/mountstats", kMostMountstatsBytes);
  if (!text) throw base::Error("cannot read", "/proc/self/mountstats", errno);
  const auto mounts = probe::parse_mountstats(*text);
  if (mounts.empty()) {
    throw base::Error("cannot measure", "/proc/self/mountstats",
                      "no NFS file system is mounted here");
  }
  Counts sums;
  for (const probe::NfsMount& mount : mounts) {
    for (std::size_t i = 0; i < mount.counts.size(); ++i) {
      sums["nfs_" + std::string(probe::kMountCounts[i])] += mount.counts[i];
    }
  }
  return sums;
}

template <typename Read>
void add_printer(CLI::App& monitor, Action& chosen, const char* name, const char* help, Read read) {
  auto options = std::make_shared<PrintOptions>();
  CLI::App* verb = monitor.add_subcommand(name, help);
  add_rate(*verb, options->rate_hz);
  verb->get_option("--rate")->envname("JUMPER_MONITOR_RATE");
  verb->add_option("--count", options->count, "stop after so many")->check(CLI::PositiveNumber);
  verb->add_option("--root", options->root, "where proc/ and sys/ lie");
  verb->callback([options, &chosen, read] {
    chosen = [options, read] {
      return print_counts(*options, [&] { return read(options->root); });
    };
  });
}

void add_run(CLI::App& monitor, Action& chosen) {
  auto options = std::make_shared<MonitorRun>();
  CLI::App* verb = monitor.add_subcommand("run", "how a kernel starts one");
  verb->group("");
  verb->add_option("--out", options->out)->required();
  verb->add_option("--root-pidfd", options->root_pidfd);
  verb->add_option("--root-pid", options->root_pid)->required();
  verb->add_option("--input", options->input);
  verb->add_option("--rate", options->rate_hz);
  verb->add_option("--directory", options->directory);
  verb->add_option("command", options->command)->required();
  verb->callback([options, &chosen] { chosen = [options] { return run_monitor(*options); }; });
}

}  // namespace

void add_monitor(CLI::App& program, Action& chosen) {
  CLI::App* monitor = program.add_subcommand(
      "monitor", "print figures of a file system as a custom monitor does, for %jumper monitor");
  monitor->require_subcommand(1);
  add_printer(*monitor, chosen, "lustre", "what this node's Lustre client does", lustre_counts);
  add_printer(*monitor, chosen, "mountstats", "what this node's NFS client does", mount_counts);
  add_run(*monitor, chosen);
}

}  // namespace tools
