#pragma once
// Values of custom monitors' columns: finite real numbers, of either sign. One is kept as the bits
// of its double. The four negative values that say why there is none are bits of NaNs, and no NaN
// is ever kept, so both fit. Non-negative ones are in the same order as their bits.

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "record/records.hpp"

namespace record {

// `number` must be finite.
constexpr Value real_value(double number) noexcept {
  return std::bit_cast<Value>(number == 0 ? 0.0 : number);
}

// nullopt where there is none: then state_of(value) says why. A damaged file may hold any bits.
inline std::optional<double> number_of(bool real, Value value) noexcept {
  if (!real) return is_known(value) ? std::optional(static_cast<double>(value)) : std::nullopt;
  const auto number = std::bit_cast<double>(value);
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace record
