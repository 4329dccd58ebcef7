#include "view/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

#include "base/units.hpp"

namespace view {

using base::three_digits;

std::string seconds_text(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (!std::isfinite(seconds) || seconds <= 0) return "0 s";
  if (seconds < 0.9995e-3) return fmt::format("{} µs", three_digits(seconds * 1e6));
  if (seconds < 0.9995) return fmt::format("{} ms", three_digits(seconds * 1e3));
  if (seconds < kMinute - 0.05) return fmt::format("{} s", three_digits(seconds));
  if (seconds < kHour - 0.5) {
    const auto whole = static_cast<std::int64_t>(std::lround(seconds));
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  const auto minutes = static_cast<std::int64_t>(std::llround(seconds / kMinute));
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

double rounded_percent(double percent) noexcept {
  constexpr double kSteps = 1000;
  constexpr double kMostExact = 1e12;
  return std::abs(percent) < kMostExact ? std::round(percent * kSteps) / kSteps : percent;
}

std::string percent_text(double percent) {
  if (!std::isfinite(percent) || percent <= 0) return "0 %";
  percent = rounded_percent(percent);
  if (percent >= 99.95) return fmt::format("{:.0f} %", percent);
  return fmt::format("{:.1f} %", percent);
}

std::string cores_text(double cores) {
  if (cores == 1) return "1 core";
  if (cores == std::floor(cores)) return fmt::format("{:.0f} cores", cores);
  return fmt::format("{:.3g} cores", cores);
}

std::string count_text(double count) {
  static constexpr std::array<std::string_view, 5> kUnits{"", "k", "M", "G", "T"};
  constexpr double kStep = 1000;
  if (!std::isfinite(count) || count < 0) count = 0;
  if (count < kStep - 0.5) return fmt::format("{:.3g}", count);
  std::size_t unit = 0;
  while (count >= kStep - 0.5 && unit + 1 < kUnits.size()) {
    count /= kStep;
    ++unit;
  }
  return fmt::format("{}{}", three_digits(count), kUnits[unit]);
}

std::string value_text(double value, std::string_view unit) {
  if (value < 0) return "-" + value_text(-value, unit);
  if (unit == "%") return percent_text(value);
  if (unit == "B") return bytes_text(value);
  if (unit == "B/s") return bytes_text(value) + "/s";
  if (unit == "1/s") return count_text(value) + " /s";
  if (unit.empty()) return count_text(value);
  return fmt::format("{} {}", count_text(value), unit);
}

}  // namespace view
