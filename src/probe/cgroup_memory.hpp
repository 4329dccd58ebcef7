#pragma once
// What a group says of memory: its limit, what is in use and of what kind, who was killed for it.

#include <cstdint>
#include <optional>
#include <string_view>

#include "record/value.hpp"

namespace probe {

// A limit in bytes (or a count: pids.max), or kNoLimit; nullopt when it isn't one. Version 2 writes
// "max" (Documentation/admin-guide/cgroup-v2.rst), version 1 the largest multiple of the page size
// (memory.limit_in_bytes, Documentation/admin-guide/cgroup-v1/memory.rst).
//
//   4294967296
//   max
//   9223372036854771712
std::optional<std::int64_t> parse_limit(std::string_view text) noexcept;

// Bytes; unknown(kNotSupported) where the text has no such line.
struct CgroupMemory {
  record::Value anonymous_bytes = record::unknown(record::State::kNotSupported);
  record::Value shared_bytes = record::unknown(record::State::kNotSupported);  // shmem: tmpfs too
  record::Value cache_bytes = record::unknown(record::State::kNotSupported);   // shared ones too
  record::Value inactive_file_bytes = record::unknown(record::State::kNotSupported);
  record::Value swap_bytes = record::unknown(record::State::kNotSupported);  // version 1 only
  // The smallest limit of the group and all its ancestors, seen or not; version 1 only.
  record::Value limit_bytes = record::unknown(record::State::kNotSupported);
};

// Parses memory.stat with all descendants: version 2 counts them in each line, version 1 in those
// that begin with "total_".
//
//   anon 1503238553                       rss 1757184
//   file 8804682956                       hierarchical_memory_limit 9223372036854771712
//   shmem 107374182                       total_cache 131072
//   inactive_file 8589934592              total_rss 1757184
CgroupMemory parse_memory_stat(std::string_view text) noexcept;

// How many processes were killed for want of memory: the line "oom_kill" of memory.events (version
// 2: of the group and its descendants) or memory.oom_control (version 1: of the group alone).
//
//   oom_kill 1
record::Value parse_oom_kills(std::string_view text) noexcept;

}  // namespace probe
