#include "probe/usable.hpp"

#include <array>
#include <string_view>

namespace probe {
namespace {

// Two paths, and what is said around them, stay below kMostSourceBytes.
constexpr std::size_t kMostPathBytes = 44;

std::string shown_path(std::string_view path) {
  std::string text;
  if (path.size() > kMostPathBytes) {
    path.remove_prefix(path.size() - kMostPathBytes + 3);
    text = "...";
  }
  for (const char c : path) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

// "2", "0.5", "1.333": without zeros at the end.
std::string thousandths(std::int64_t value) {
  std::string text = std::to_string(value / 1000);
  std::string rest = std::to_string(1000 + value % 1000).substr(1);
  rest.resize(rest.find_last_not_of('0') + 1);
  if (!rest.empty()) text.append(".").append(rest);
  return text;
}

std::string cores_text(std::int64_t millicores) {
  return thousandths(millicores) + (millicores == 1000 ? " core" : " cores");
}

// To a tenth: "4 GiB", "1.5 GiB", "512 MiB".
std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits{" KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  std::int64_t size = 1024;
  while (unit + 1 < kUnits.size() && bytes >= 1024 * size) {
    size *= 1024;
    ++unit;
  }
  const std::int64_t tenths = bytes / size * 10 + (bytes % size * 10 + size / 2) / size;
  return thousandths(tenths * 100).append(kUnits[unit]);
}

std::string limit_text(std::string_view what, const Limit& limit, const std::string& amount) {
  std::string text(what);
  text += limit.above ? " above cgroup " : " of cgroup ";
  return text + shown_path(limit.group) + " (" + amount + ")";
}

bool is_less(std::int64_t bound, std::int64_t value) noexcept {
  return bound != kNoLimit && (value == 0 || bound < value);
}

}  // namespace

Usable usable_of(std::int64_t cores, std::int64_t memory_bytes, const Limits& limits,
                 const SlurmWords& slurm) {
  Usable usable{cores * 1000, memory_bytes, "affinity of the kernel process"};
  const Limit& quota = limits.cpu_millicores();
  if (is_less(quota.amount, usable.millicores)) {
    usable.millicores = quota.amount;
    usable.source = limit_text("CPU quota", quota, cores_text(quota.amount));
  }
  if (slurm.cores != kNoLimit && is_less(slurm.cores * 1000, usable.millicores)) {
    usable.millicores = slurm.cores * 1000;
    usable.source = "SLURM_CPUS_ON_NODE (" + cores_text(usable.millicores) + ")";
  }

  std::string memory = "memory of the node";
  const Limit& limit = limits.memory_bytes();
  if (is_less(limit.amount, usable.memory_bytes)) {
    usable.memory_bytes = limit.amount;
    memory = limit_text("memory limit", limit, bytes_text(limit.amount));
  }
  if (is_less(slurm.memory_bytes, usable.memory_bytes)) {
    usable.memory_bytes = slurm.memory_bytes;
    memory = slurm.memory_by_core ? "SLURM_MEM_PER_CPU of all cores (" : "SLURM_MEM_PER_NODE (";
    memory += bytes_text(slurm.memory_bytes) + ")";
  }
  usable.source += "; ";
  usable.source += memory;
  return usable;
}

}  // namespace probe
