#pragma once
// /proc/loadavg: how many threads the node has, and how many wanted a core of late.

#include <cstdint>
#include <optional>
#include <string_view>

#include "record/value.hpp"

namespace probe {

struct Load {
  std::int64_t threads = 0;  // kernel threads included
  // The first number × 1000: threads that ran, waited for a core or for a disk, on average over
  // about a minute. unknown(kNotSupported) when it isn't a number.
  record::Value load_1min_milli = record::unknown(record::State::kNotSupported);
};

// Parses /proc/loadavg (proc(5); fs/proc/loadavg.c). nullopt without the number of threads behind
// the slash.
//
//   0.01 0.11 0.07 1/82 5854
std::optional<Load> parse_loadavg(std::string_view text) noexcept;

}  // namespace probe
