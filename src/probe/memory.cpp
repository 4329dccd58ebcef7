#include "probe/memory.hpp"

#include "probe/scan.hpp"

namespace probe {
namespace {
constexpr std::int64_t kKibibyte = 1024;
}

std::optional<MemoryInfo> parse_meminfo(std::string_view text) noexcept {
  const auto total = labelled_number(text, "MemTotal:", kKibibyte);
  if (!total) return std::nullopt;
  return MemoryInfo{*total, labelled_number(text, "MemAvailable:", kKibibyte)};
}

std::optional<MemorySizes> parse_smaps_rollup(std::string_view text) noexcept {
  const auto resident = labelled_number(text, "Rss:", kKibibyte);
  const auto proportional = labelled_number(text, "Pss:", kKibibyte);
  if (!resident || !proportional) return std::nullopt;
  return MemorySizes{*resident, *proportional};
}

}  // namespace probe
