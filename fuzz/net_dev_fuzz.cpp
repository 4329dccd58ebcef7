// /proc/net/dev: what is read is never negative, and a sum of two texts, one after the other, never
// falls.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/device_sum.hpp"
#include "probe/interfaces.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (probe::Scanner lines(text); !lines.done();) {
    const auto found = probe::parse_interface(lines.line());
    if (!found) continue;
    for (const auto count : found->counts) {
      if (count < 0) __builtin_trap();
    }
  }
  const std::size_t half = size / 2;
  const auto rank_of = [](std::string_view name) -> std::uint8_t { return name == "lo" ? 0 : 1; };
  probe::DeviceSum<probe::kInterfaceCounts> sum;
  sum.start(text.substr(0, half), probe::parse_interface, rank_of);
  auto before = sum.totals();
  std::int64_t now_ns = 0;
  for (const std::string_view part : {text.substr(half), text.substr(0, half), text}) {
    sum.take(part, now_ns += 1'000'000'000, probe::parse_interface, rank_of);
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (sum.totals()[i] < before[i] || sum.totals()[i] > probe::kMostNumber) __builtin_trap();
    }
    before = sum.totals();
  }
  return 0;
}
