#include "probe/cgroup_memory.hpp"

#include <algorithm>

#include "probe/cgroup_cpu.hpp"
#include "probe/scan.hpp"

namespace probe {

std::optional<std::int64_t> parse_limit(std::string_view text) noexcept {
  const std::string_view word = Scanner(text).word();
  if (word == "max") return kNoLimit;
  const bool digits =
      !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return std::nullopt;
  return Scanner(word).number().value_or(kNoLimit);  // too large to be one
}

CgroupMemory parse_memory_stat(std::string_view text) noexcept {
  CgroupMemory memory;
  for (Scanner lines(text); !lines.done();) {
    Scanner words(lines.line());
    std::string_view name = words.word();
    // In version 1 the group's own lines come first, so the total ones replace them.
    if (name.starts_with("total_")) name.remove_prefix(6);
    record::Value* place = nullptr;
    if (name == "anon" || name == "rss") place = &memory.anonymous_bytes;
    if (name == "file" || name == "cache") place = &memory.cache_bytes;
    if (name == "shmem") place = &memory.shared_bytes;
    if (name == "inactive_file") place = &memory.inactive_file_bytes;
    if (name == "swap") place = &memory.swap_bytes;
    if (name == "hierarchical_memory_limit") place = &memory.limit_bytes;
    if (place != nullptr) *place = words.number().value_or(*place);
  }
  return memory;
}

record::Value parse_oom_kills(std::string_view text) noexcept {
  return labelled_number(text, "oom_kill ", 1)
      .value_or(record::unknown(record::State::kNotSupported));
}

}  // namespace probe
