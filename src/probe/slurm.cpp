#include "probe/slurm.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr std::size_t kMostWordBytes = 24;

// Unlike Scanner's: no blank before or after.
std::optional<std::int64_t> whole_number(std::string_view text) noexcept {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end || value < 0 || value > kMostNumber) {
    return std::nullopt;
  }
  return value;
}

std::string shown(std::string_view name, std::string_view value) {
  std::string text(name);
  text += '=';
  for (const char c : value.substr(0, kMostWordBytes)) text += c >= ' ' && c <= '~' ? c : '?';
  if (value.size() > kMostWordBytes) text += "...";
  return text;
}

bool is_slurm_parent(std::string_view grandparent, std::string_view parent) noexcept {
  return parent.ends_with("slurmstepd.scope") ||
         (parent.starts_with("uid_") && grandparent.starts_with("slurm"));
}

}  // namespace

std::string_view slurm_job_path(std::string_view path) noexcept {
  std::string_view grandparent;
  std::string_view parent;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    if (name.size() > 4 && name.starts_with("job_") && is_slurm_parent(grandparent, parent)) {
      return path.substr(0, end);
    }
    grandparent = parent;
    parent = name;
    begin = end + 1;
  }
  return {};
}

SlurmWords parse_slurm_environment(std::string_view text) {
  constexpr std::int64_t kMebibyte = 1 << 20;
  SlurmWords words;
  bool on_node = false;
  std::optional<std::int64_t> cores;
  std::optional<std::int64_t> node_mebibytes;
  std::optional<std::int64_t> core_mebibytes;
  const auto take = [&](std::string_view name, std::string_view variable,
                        std::optional<std::int64_t>& number) {
    if (!variable.starts_with(name) || variable.substr(name.size(), 1) != "=") return false;
    const std::string_view value = variable.substr(name.size() + 1);
    number = whole_number(value);
    if (!number) words.nonsense.push_back(shown(name, value));
    return true;
  };
  while (!text.empty() && words.nonsense.size() < 8) {
    const std::string_view variable = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(variable.size() + 1, text.size()));
    if (!variable.starts_with("SLURM_")) continue;
    if (take("SLURM_CPUS_ON_NODE", variable, cores)) on_node = true;
    take("SLURM_MEM_PER_NODE", variable, node_mebibytes);
    take("SLURM_MEM_PER_CPU", variable, core_mebibytes);
  }
  if (!on_node) {
    words.nonsense.clear();
    return words;
  }
  constexpr std::int64_t kMostMebibytes = kMostNumber / kMebibyte;
  constexpr std::int64_t kMostSlurmCores = 1 << 20;
  if (cores.value_or(0) > 0 && *cores <= kMostSlurmCores) words.cores = *cores;
  if (node_mebibytes.value_or(0) > 0) {
    if (*node_mebibytes <= kMostMebibytes) words.memory_bytes = *node_mebibytes * kMebibyte;
  } else if (core_mebibytes.value_or(0) > 0 && words.cores != kNoLimit &&
             *core_mebibytes <= kMostMebibytes / words.cores) {
    words.memory_bytes = *core_mebibytes * words.cores * kMebibyte;
    words.memory_by_core = true;
  }
  return words;
}

}  // namespace probe
