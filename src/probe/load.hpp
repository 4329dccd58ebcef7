#pragma once
// /proc/loadavg: how many threads the node has.

#include <cstdint>
#include <optional>
#include <string_view>

namespace probe {

// Parses the number of threads, kernel threads included, behind the slash of /proc/loadavg
// (proc(5); fs/proc/loadavg.c). nullopt when the text is something else.
//
//   0.01 0.11 0.07 1/82 5854
std::optional<std::int64_t> parse_loadavg(std::string_view text) noexcept;

}  // namespace probe
