#pragma once
// A value that a probe read. All quantities are non-negative integers in the unit that ends the
// column's name (ns, bytes, count), so the negative numbers are free to say why there is none:
// unknown is not zero.

#include <cstdint>
#include <string_view>

namespace record {

using Value = std::int64_t;

enum class State : std::int8_t {
  kMeasured = 0,
  kNotYet = 1,        // nothing was measured so far
  kNotPermitted = 2,  // the system refuses it to this user
  kNotSupported = 3,  // this system has no such source
  kVanished = 4,      // what it would describe is gone
};

constexpr Value unknown(State state) noexcept { return -static_cast<Value>(state); }

constexpr bool is_known(Value value) noexcept { return value >= 0; }

constexpr State state_of(Value value) noexcept {
  if (value >= 0) return State::kMeasured;
  return value >= -4 ? static_cast<State>(-value) : State::kNotYet;
}

// "measured", "not permitted", "not supported", "vanished", "not yet": the words that every
// reason in a summary begins with.
constexpr std::string_view state_word(State state) noexcept {
  switch (state) {
    case State::kMeasured:
      return "measured";
    case State::kNotPermitted:
      return "not permitted";
    case State::kNotSupported:
      return "not supported";
    case State::kVanished:
      return "vanished";
    case State::kNotYet:
      break;
  }
  return "not yet";
}

}  // namespace record
