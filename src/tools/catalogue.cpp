#include "tools/catalogue.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>

#include "base/clock.hpp"
#include "probe/missing.hpp"
#include "probe/source.hpp"

namespace tools {
namespace {

constexpr std::size_t kReads = 20;
constexpr std::size_t kFullReads = 10;
constexpr std::int64_t kPauseNs = 20'000'000;  // between two reads of the same
constexpr std::int64_t kTickNs = 100'000'000;
constexpr int kMostTicks = 10;
constexpr int kMostTicksForDevices = 50;  // a driver that nobody uses takes seconds to start
constexpr std::size_t kBufferBytes = 1 << 16;

constexpr std::string_view kTree = "tree";
constexpr std::string_view kNode = "node";

constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kUnits{{
    {"_bytes", "bytes"},
    {"_ns", "ns"},
    {"_us", "us"},
    {"_ms", "ms"},
    {"_ops", "ops"},
    {"_percent", "percent"},
    {"_milli", "thousandths"},
    {"_millicores", "millicores"},
    {"_milliwatts", "milliwatts"},
    {"_microwatts", "microwatts"},
    {"_millijoules", "millijoules"},
    {"_microjoules", "microjoules"},
    {"_hz", "Hz"},
    {"_celsius", "celsius"},
    {"_millicelsius", "millicelsius"},
    {"_pages", "pages"},
}};

void pause_for(std::int64_t pause_ns) {
  const timespec time{pause_ns / 1'000'000'000, pause_ns % 1'000'000'000};
  ::nanosleep(&time, nullptr);
}

void tick(probe::Sampler& sampler, record::Sample& sample) {
  sampler.columns_changed();
  sample.values.resize(sampler.columns().size());
  sampler.tick(sample, base::monotonic_ns());
}

bool is_complete(const record::Sample& sample) {
  return std::ranges::none_of(sample.values, [](record::Value value) {
    return record::state_of(value) == record::State::kNotYet;
  });
}

// A source that has found nothing yet, and hasn't said that there is nothing.
bool still_looks(const probe::Sampler& sampler) {
  for (const probe::Source* source : sampler.sources()) {
    if (source->most_columns() == 0 || !source->columns().empty()) continue;
    const bool has_spoken = std::ranges::any_of(sampler.missing(), [&](const auto& missing) {
      const std::size_t dot = missing.name.find('.');
      return dot != missing.name.npos &&
             std::string_view(missing.name).substr(dot + 1).starts_with(source->name());
    });
    if (!has_spoken) return true;
  }
  return false;
}

// Those of the tree and the node come first, in this order; the node's by their level.
std::vector<SourceEntry> list_sources(const probe::Sampler& sampler) {
  std::size_t own = sampler.columns().size();
  for (const probe::Source* source : sampler.sources()) own -= source->columns().size();
  const auto begin = sampler.columns().begin();
  const auto node =
      std::find_if(begin, begin + static_cast<std::ptrdiff_t>(own),
                   [](const record::Column& column) { return level_of(column.name) == "node"; });
  const auto tree_columns = static_cast<std::size_t>(node - begin);
  std::vector<SourceEntry> list;
  const auto add = [&](std::string_view name, std::string_view origin, std::size_t number) {
    const std::size_t first = list.empty() ? 0 : list.back().first + list.back().number;
    list.push_back({std::string(name), std::string(origin), first, number, {}});
  };
  if (tree_columns > 0) add(kTree, "/proc/PID/stat, io, smaps_rollup", tree_columns);
  if (tree_columns < own) add(kNode, "/proc/stat, meminfo, vmstat, loadavg", own - tree_columns);
  for (const probe::Source* source : sampler.sources()) {
    add(source->name(), source->origin(), source->columns().size());
  }
  return list;
}

// One thing to read again and again, and how long each read took.
struct Timing {
  std::function<void(bool full)> read;
  std::vector<std::int64_t> part_ns;
  std::vector<std::int64_t> full_ns;

  void take(bool full) {
    const std::int64_t begin_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    read(full);
    (full ? full_ns : part_ns).push_back(base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
  }
  [[nodiscard]] Cost median() const { return {middle(part_ns), middle(full_ns)}; }

 private:
  static std::int64_t middle(std::vector<std::int64_t> times_ns) {
    if (times_ns.empty()) return -1;
    std::ranges::sort(times_ns);
    return times_ns[times_ns.size() / 2];
  }
};

// Those of one group are read right after each other: they have no file in common.
void take_all(std::span<std::vector<Timing>> groups) {
  for (std::size_t turn = 0; turn < kReads + kFullReads; ++turn) {
    for (auto& group : groups) {
      pause_for(kPauseNs);
      for (Timing& timing : group) timing.take(turn % 3 == 2);
    }
  }
}

std::vector<Timing> source_timings(probe::Sampler& sampler, std::vector<char>& buffer) {
  std::vector<Timing> timings;
  for (probe::Source* source : sampler.sources()) {
    Timing timing;
    timing.read = [source, &buffer, values = std::vector<record::Value>()](bool full) mutable {
      source->columns_changed();
      values.resize(source->columns().size());
      source->read(values, probe::Turn{base::monotonic_ns(), full, buffer});
    };
    timings.push_back(std::move(timing));
  }
  return timings;
}

// A sampler of one level or none; its ticks without what its sources cost.
struct Part {
  probe::Sampler sampler;
  record::Sample sample;

  explicit Part(const probe::SamplerOptions& options) : sampler(options) {}

  std::vector<Timing> timing() {
    Timing one;
    one.read = [this](bool full) {
      sample.flags = full ? record::kEdgeSample : 0;
      tick(sampler, sample);
    };
    return {std::move(one)};
  }
  [[nodiscard]] Cost without_sources(Cost cost, const Catalogue& catalogue) const {
    for (const probe::Source* source : sampler.sources()) {
      for (const SourceEntry& entry : catalogue.sources) {
        if (entry.name != source->name()) continue;
        cost.part_ns -= entry.cost.part_ns;
        cost.full_ns -= entry.cost.full_ns;
      }
    }
    return cost;
  }
};

Cost difference(const Cost& more, const Cost& less) {
  return {std::max<std::int64_t>(more.part_ns - less.part_ns, 0),
          std::max<std::int64_t>(more.full_ns - less.full_ns, 0)};
}

bool is_about(std::string_view said, std::string_view name) noexcept {
  while (said.ends_with('*') || said.ends_with('_')) said.remove_suffix(1);
  if (said.ends_with('.')) said.remove_suffix(1);
  if (said.empty()) return false;
  if (name.starts_with(said)) {
    return name.size() == said.size() || name[said.size()] == '_' || name[said.size()] == '.';
  }
  // "node.core3.cpu_time_ns" -> "node." and ".cpu_time_ns"
  const std::size_t dot = name.find('.');
  const std::size_t last = name.rfind('.');
  return dot < last && said.size() == dot + name.size() - last &&
         said.starts_with(name.substr(0, dot)) && said.ends_with(name.substr(last));
}

}  // namespace

Catalogue look(const probe::SamplerOptions& options) {
  probe::Sampler sampler(options);
  record::Sample sample;
  sample.flags = record::kEdgeSample;
  sampler.want_proportional();
  tick(sampler, sample);
  const auto go_on = [&](int taken) {
    return taken < 2 || (taken < kMostTicks && !is_complete(sample)) ||
           (taken < kMostTicksForDevices && still_looks(sampler));
  };
  for (int taken = 1; go_on(taken); ++taken) {
    pause_for(kTickNs);
    tick(sampler, sample);
  }
  return {sampler.columns(), sample.values, list_sources(sampler), sampler.missing(),
          sampler.machine()};
}

void measure_costs(const probe::SamplerOptions& options, Catalogue& catalogue) {
  probe::SamplerOptions what = options;
  what.proportional = false;  // on a thread of its own, seldom
  probe::Sampler sampler(what);
  what.user_level = what.job_level = false;
  what.process_level = what.node_level = false;
  Part none(what);
  what.process_level = options.process_level;
  Part tree(what);
  what.process_level = false;
  what.node_level = options.node_level;
  Part node(what);
  std::vector<char> buffer(kBufferBytes);
  std::array<std::vector<Timing>, 4> groups{source_timings(sampler, buffer), none.timing(),
                                            tree.timing(), node.timing()};
  take_all(groups);
  const auto sources = sampler.sources();
  for (SourceEntry& entry : catalogue.sources) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (entry.name == sources[i]->name()) entry.cost = groups[0][i].median();
    }
  }
  const Cost base = none.without_sources(groups[1][0].median(), catalogue);
  for (SourceEntry& entry : catalogue.sources) {
    if (entry.name == kTree) {
      entry.cost = difference(tree.without_sources(groups[2][0].median(), catalogue), base);
    } else if (entry.name == kNode) {
      entry.cost = node.without_sources(groups[3][0].median(), catalogue);
    }
  }
}

std::string_view unit_of(std::string_view name) noexcept {
  for (const auto& [ending, unit] : kUnits) {
    if (name.ends_with(ending)) return unit;
  }
  return "count";
}

std::string_view level_of(std::string_view name) noexcept { return name.substr(0, name.find('.')); }

const record::Missing* find_reason(std::span<const record::Missing> missing,
                                   std::string_view name) {
  const record::Missing* found = nullptr;
  for (const record::Missing& one : missing) {
    if (is_about(one.name, name)) found = &one;
  }
  const bool taken_back = found != nullptr && found->state == record::State::kMeasured &&
                          !found->reason.starts_with(probe::kLowerBound);
  return taken_back ? nullptr : found;
}

std::string state_text(record::Value value, const record::Missing* reason) {
  std::string text(record::state_word(record::state_of(value)));
  if (reason == nullptr || reason->reason.empty()) return text;
  const bool is_bound = reason->reason.starts_with(probe::kLowerBound);
  if (record::is_known(value)) return is_bound ? text + ", " + reason->reason : text;
  return is_bound ? text : text + ": " + reason->reason;
}

}  // namespace tools
