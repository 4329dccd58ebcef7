// memory.events, memory.oom_control, the marks of systemd-oomd.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/oom_text.hpp"
#include "probe/scan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto events = probe::parse_oom_events(text);
  constexpr auto kNone = record::unknown(record::State::kNotSupported);
  for (const auto value : {events.ooms, events.kills, events.group_kills}) {
    if ((value < 0 && value != kNone) || value > probe::kMostNumber) __builtin_trap();
  }
  const auto mark = probe::parse_oomd_mark(text);
  if (mark < 0 || mark > probe::kMostNumber) __builtin_trap();
  return 0;
}
