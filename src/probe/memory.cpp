#include "probe/memory.hpp"

#include <algorithm>

#include "probe/scan.hpp"

namespace probe {
namespace {
constexpr std::int64_t kKibibyte = 1024;
}

std::optional<MemoryInfo> parse_meminfo(std::string_view text) noexcept {
  const auto total = labelled_number(text, "MemTotal:", kKibibyte);
  if (!total) return std::nullopt;
  MemoryInfo info;
  info.total_bytes = *total;
  info.available_bytes = labelled_number(text, "MemAvailable:", kKibibyte);
  const auto cached = labelled_number(text, "Cached:", kKibibyte);
  const auto shared = labelled_number(text, "Shmem:", kKibibyte);
  if (cached && shared) {
    const std::int64_t bytes = *cached - *shared +
                               labelled_number(text, "Buffers:", kKibibyte).value_or(0) +
                               labelled_number(text, "SReclaimable:", kKibibyte).value_or(0);
    info.cache_bytes = std::clamp<std::int64_t>(bytes, 0, kMostNumber);
  }
  const auto swap = labelled_number(text, "SwapTotal:", kKibibyte);
  const auto swap_free = labelled_number(text, "SwapFree:", kKibibyte);
  if (swap) info.swap_total_bytes = *swap;
  if (swap && swap_free) info.swap_used_bytes = std::max<std::int64_t>(*swap - *swap_free, 0);
  return info;
}

std::optional<MemorySizes> parse_smaps_rollup(std::string_view text) noexcept {
  const auto resident = labelled_number(text, "Rss:", kKibibyte);
  const auto proportional = labelled_number(text, "Pss:", kKibibyte);
  if (!resident || !proportional) return std::nullopt;
  MemorySizes sizes;
  sizes.resident_bytes = *resident;
  sizes.proportional_bytes = *proportional;
  for (const std::string_view label : {"Swap:", "SwapPss:"}) {
    if (const auto swap = labelled_number(text, label, kKibibyte)) sizes.swap_bytes = *swap;
  }
  return sizes;
}

}  // namespace probe
