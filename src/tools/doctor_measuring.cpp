// Levels, sources, limits and GPUs: two real ticks of the sampler, and what they brought.

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "probe/missing.hpp"
#include "tools/catalogue.hpp"
#include "tools/doctor.hpp"
#include "view/units.hpp"

namespace tools {
namespace {

constexpr std::array<std::string_view, 4> kLevels{"process", "user", "job", "node"};
constexpr std::size_t kMostNames = 3;
constexpr const char* kNvidiaFile = "/dev/nvidiactl";  // there when the driver is loaded
constexpr const char* kAmdFile = "/dev/kfd";
constexpr rlim_t kFewDescriptors = 1024;

bool is_of(std::string_view name, std::string_view level) {
  return name.starts_with(level) && (name.size() == level.size() || name[level.size()] == '.');
}

// "process.pss_bytes" -> "pss_bytes": the level stands beside it.
std::string_view metric_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

bool is_gpu(std::string_view name) {
  const std::string_view metric = metric_of(name);
  return metric.starts_with("gpu") || metric.starts_with("drm");  // "node.gpu0.…", "node.drm"
}

record::Value value_of(const Catalogue& found, std::string_view name) {
  for (std::size_t i = 0; i < found.columns.size(); ++i) {
    if (found.columns[i].name == name) return found.values[i];
  }
  return record::unknown(record::State::kNotSupported);
}

// Metrics that lack a value for the same reason.
struct Lack {
  std::string reason;
  std::vector<std::string_view> names;

  [[nodiscard]] std::string text() const {
    const std::size_t shown = std::min(names.size(), kMostNames);
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
    std::string text = fmt::format("{}", fmt::join(names.begin(), end, ", "));
    if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
    return text + ": " + reason;
  }
};

void add(std::vector<Lack>& lacks, std::string_view name, std::string reason) {
  const auto same = [&](const Lack& lack) { return lack.reason == reason; };
  const auto found = std::ranges::find_if(lacks, same);
  Lack& lack = found != lacks.end() ? *found : lacks.emplace_back(Lack{std::move(reason), {}});
  if (std::ranges::find(lack.names, name) == lack.names.end()) lack.names.push_back(name);
}

// What a level lacks: columns without a value, and values that may be too small.
std::vector<Lack> lacks_of(const Catalogue& found, std::string_view level) {
  std::vector<Lack> lacks;
  for (std::size_t i = 0; i < found.columns.size(); ++i) {
    const std::string_view name = found.columns[i].name;
    if (!is_of(name, level)) continue;
    std::string state = state_text(found.values[i], find_reason(found.missing, name));
    if (state != "measured") add(lacks, metric_of(name), std::move(state));
  }
  return lacks;
}

// What has no column at all, those of GPUs apart: as a rule no system like this one has it.
std::vector<Lack> absent_of(const Catalogue& found, std::string_view level) {
  std::vector<Lack> lacks;
  for (const record::Missing& one : found.missing) {
    if (!is_of(one.name, level) || is_gpu(one.name) || one.name == level) continue;
    const bool has_columns = std::ranges::any_of(found.columns, [&](const record::Column& column) {
      return is_of(column.name, level) && find_reason({&one, 1}, column.name) != nullptr;
    });
    if (has_columns || find_reason(found.missing, one.name) != &one) continue;
    add(lacks, metric_of(one.name), state_text(record::unknown(one.state), &one));
  }
  return lacks;
}

void check_level(const Catalogue& found, std::string_view level, Sheet& sheet) {
  std::size_t columns = 0;
  std::size_t known = 0;
  for (std::size_t i = 0; i < found.columns.size(); ++i) {
    if (!is_of(found.columns[i].name, level)) continue;
    ++columns;
    if (record::is_known(found.values[i])) ++known;
  }
  const auto lacks = lacks_of(found, level);
  const std::string counted = fmt::format("{} of {} values are measured", known, columns);
  if (columns == 0) {
    const record::Missing* reason = find_reason(found.missing, level);
    if (reason != nullptr) {
      const std::string text = state_text(record::unknown(reason->state), reason);
      const bool absent = reason->state == record::State::kNotSupported;
      absent ? sheet.ok(level, text) : sheet.limited(level, text);
    } else if (level == "job" && found.machine.job_source.empty()) {
      sheet.ok(level, "this process is in no job");
    } else {
      sheet.limited(level, "this version measures nothing of it here");
    }
  } else if (level == "process" && !record::is_known(value_of(found, "process.cpu_time_ns"))) {
    sheet.missing(level, counted + ", not even the CPU time of the process");
  } else if (known < columns) {
    sheet.limited(level, counted);
  } else if (!lacks.empty()) {
    sheet.limited(level, counted + ", some of them as lower bounds");
  } else {
    sheet.ok(level, counted);
  }
  for (const Lack& lack : lacks) sheet.limited(level, lack.text());
  for (const Lack& lack : absent_of(found, level)) sheet.ok(level, "without " + lack.text());
}

void check_sources(const Catalogue& found, Sheet& sheet) {
  for (const SourceEntry& source : found.sources) {
    std::size_t known = 0;
    for (std::size_t i = source.first; i < source.first + source.number; ++i) {
      if (record::is_known(found.values[i])) ++known;
    }
    if (source.number == 0) {
      sheet.ok(source.name, fmt::format("nothing of it is here ({})", source.origin));
      continue;
    }
    const std::string text =
        fmt::format("{} of {} values, from {}", known, source.number, source.origin);
    known == source.number ? sheet.ok(source.name, text) : sheet.limited(source.name, text);
  }
}

void check_capacity(const Catalogue& found, Sheet& sheet) {
  const record::Machine& machine = found.machine;
  const std::array<std::pair<std::string_view, std::string_view>, kLevels.size()> origins{
      {{"process", machine.process_source},
       {"user", machine.user_source},
       {"job", machine.job_source},
       {"node", machine.node_source}}};
  for (const auto& [level, origin] : origins) {
    const auto cores = value_of(found, fmt::format("{}.capacity_millicores", level));
    const auto memory = value_of(found, fmt::format("{}.capacity_memory_bytes", level));
    if (!record::is_known(cores) && !record::is_known(memory)) continue;
    std::string text = record::is_known(cores)
                           ? view::cores_text(static_cast<double>(cores) / 1000.0)
                           : "unknown cores";
    text += record::is_known(memory) ? ", " + view::bytes_text(static_cast<double>(memory))
                                     : ", unknown memory";
    if (!origin.empty()) text += fmt::format(" ({})", origin);
    sheet.ok(level, text);
  }
}

// A positive number in a variable; 0 when there is none.
long number_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::max(std::strtol(text, nullptr, 10), 0L) : 0;
}

void check_slurm(const Catalogue& found, Sheet& sheet) {
  constexpr std::array kNames{"SLURM_JOB_ID",        "SLURM_STEP_ID",       "SLURM_JOB_NUM_NODES",
                              "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE",  "SLURM_MEM_PER_NODE",
                              "SLURM_MEM_PER_CPU",   "CUDA_VISIBLE_DEVICES"};
  const char* job = std::getenv(kNames[0]);
  if (job == nullptr) return;
  std::string text;
  for (const char* name : kNames) {
    const char* value = std::getenv(name);
    if (value != nullptr) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  if (number_of(kNames[2]) > 1) {
    sheet.limited("Slurm", text + ": of the job's nodes only this one is measured");
    return;
  }
  const long granted = number_of(kNames[3]);
  const auto usable = static_cast<long>(found.machine.affinity.size());
  if (granted > 0 && usable > granted) {
    sheet.limited("Slurm",
                  fmt::format("{}: the job has {}, the process may run on {}; per cent are of what "
                              "it may run on",
                              text, view::cores_text(static_cast<double>(granted)), usable),
                  "start it with `srun`, or ask the administrator for TaskPlugin=task/affinity");
    return;
  }
  sheet.ok("Slurm", text);
}

void check_descriptors(Sheet& sheet) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const std::string text =
      fmt::format("{} for the sampler, two for each process that it watches", limit.rlim_max);
  if (limit.rlim_max >= kFewDescriptors) return sheet.ok("open files", text);
  sheet.limited("open files", text, "raise the hard limit (ulimit -Hn)");
}

// "node.gpu0.memory_bytes" -> "gpu0"
std::string_view device_of(std::string_view name) {
  const std::string_view rest = metric_of(name);
  const std::size_t dot = rest.find('.');
  return is_gpu(name) && dot != rest.npos ? rest.substr(0, dot) : std::string_view();
}

// No device, as opposed to one that can't be measured.
bool is_absent(const Subject& subject, const Catalogue& found, const record::Missing& missing) {
  if (missing.state != record::State::kNotSupported) return false;
  const bool has_columns = std::ranges::any_of(found.columns, [&](const record::Column& column) {
    return find_reason({&missing, 1}, column.name) != nullptr;
  });
  if (has_columns) return false;
  const char* file = metric_of(missing.name).starts_with("drm") ? kAmdFile : kNvidiaFile;
  return ::access((subject.root + file).c_str(), F_OK) != 0;
}

void check_gpu(const Subject& subject, const Catalogue& found, Sheet& sheet) {
  std::vector<std::string_view> devices;
  for (const record::Column& column : found.columns) {
    const std::string_view device = device_of(column.name);
    const bool is_new = !device.empty() && std::ranges::find(devices, device) == devices.end();
    if (is_new) devices.push_back(device);
  }
  for (const std::string_view device : devices) {
    std::size_t columns = 0;
    std::size_t known = 0;
    for (std::size_t i = 0; i < found.columns.size(); ++i) {
      if (device_of(found.columns[i].name) != device) continue;
      ++columns;
      if (record::is_known(found.values[i])) ++known;
    }
    const std::string text = fmt::format("{} of {} values are measured", known, columns);
    known > 0 ? sheet.ok(device, text) : sheet.limited(device, text);
  }
  bool said = !devices.empty();
  std::vector<Lack> lacks;
  std::vector<Lack> absent;
  for (const record::Missing& one : found.missing) {
    if (!is_gpu(one.name)) continue;
    said = true;
    add(is_absent(subject, found, one) ? absent : lacks, one.name,
        state_text(record::unknown(one.state), &one));
  }
  for (const Lack& lack : lacks) sheet.limited("GPU", lack.text());
  for (const Lack& lack : absent) sheet.ok("GPU", lack.reason);
  const bool is_silent = std::ranges::any_of(found.sources,
                                             [](const SourceEntry& source) {
                                               return source.name == "gpu" && source.number == 0;
                                             }) &&
                         std::ranges::none_of(found.missing, [](const record::Missing& one) {
                           return metric_of(one.name).starts_with("gpu");
                         });
  if (is_silent) {
    sheet.limited("GPU", "the NVIDIA driver hasn't answered yet", "does `nvidia-smi` answer?");
  } else if (!said) {
    sheet.ok("GPU", "this version looks for none");
  }
}

}  // namespace

void check_measuring(const Subject& subject, Sheet& sheet) {
  probe::SamplerOptions options;
  options.root = subject.root;
  options.root_pid = subject.pid;
  options.excluded_pid = ::getpid();
  Catalogue found;
  try {
    found = look(options);
  } catch (const base::Error& error) {
    sheet.missing("process", error.what());
    options.process_level = false;
    found = look(options);
  }
  for (const std::string_view level : kLevels) {
    if (options.process_level || level != "process") check_level(found, level, sheet);
  }
  sheet.group("sources");
  check_sources(found, sheet);
  sheet.group("limits");
  check_capacity(found, sheet);
  check_slurm(found, sheet);
  check_descriptors(sheet);
  sheet.group("GPU");
  check_gpu(subject, found, sheet);
}

}  // namespace tools
