#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace base {

std::string three_digits(double value) {
  if (value == 0) return "0";
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

std::string bytes_text(double bytes) {
  static constexpr std::array<std::string_view, 7> kUnits{"B",   "KiB", "MiB", "GiB",
                                                          "TiB", "PiB", "EiB"};
  constexpr double kStep = 1024;
  if (!std::isfinite(bytes) || bytes < 0) bytes = 0;
  if (bytes < kStep) return fmt::format("{:.0f} B", bytes);
  std::size_t unit = 0;
  while (bytes >= kStep - 0.5 && unit + 1 < kUnits.size()) {  // 1023.6 would be shown as 1024
    bytes /= kStep;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(bytes), kUnits[unit]);
}

}  // namespace base
