#pragma once
// /proc/stat: what the cores were busy with since boot, how often they switched, and how many
// processes were ever started.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "record/value.hpp"

namespace probe {

struct Stat {
  std::int64_t busy_ticks = 0;        // of all cores, also of those that went offline
  std::optional<std::int64_t> forks;  // processes and threads started since boot
  // unknown(kNotSupported) where the text doesn't have them.
  record::Value steal_ticks = record::unknown(record::State::kNotSupported);
  record::Value context_switches = record::unknown(record::State::kNotSupported);
  record::Value threads_running =
      record::unknown(record::State::kNotSupported);  // or waiting for a core
};

// Parses /proc/stat (proc(5); Documentation/filesystems/proc.rst, 1.7). A core's busy ticks go to
// core_ticks[its number]; places whose core isn't listed (offline) become unknown(kVanished), and
// cores beyond the span are left out. nullopt when there is no "cpu" line.
//
//   cpu  5494 0 1934 106696 380 0 67 27 0 0
//   cpu0 2122 0 815 54315 56 0 7 7 0 0
//   ctxt 345100
//   processes 5854
//   procs_running 4
//
// The columns: user nice system idle iowait irq softirq steal guest guest_nice. Busy = user + nice
// + system + irq + softirq + steal; guest times are in user and nice already.
std::optional<Stat> parse_stat(std::string_view text, std::span<record::Value> core_ticks) noexcept;

}  // namespace probe
