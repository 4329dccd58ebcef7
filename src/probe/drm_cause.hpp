#pragma once
// Why a graphics card has no number for something.

#include <cstdint>
#include <string_view>

#include "record/value.hpp"

namespace probe {

enum class DrmCause : std::uint8_t {
  kNotYet = 1,  // nothing was read so far
  kNoThread,
  kNoFile,
  kNoAnswer,
  kRefused,
  kAsleep,
  kBusy,
  kGone,
  kSilent,
  kOdd,
  kTreeGone,
  kTreeRefused,
  kUntold,
  kNoMemory,
  kPastKernel,
};

// Between threads: the number itself, or which cause, negative.
constexpr std::int64_t drm_unknown(DrmCause cause) noexcept {
  return -static_cast<std::int64_t>(cause);
}
constexpr DrmCause drm_cause(std::int64_t value) noexcept {
  const bool is_one = value < 0 && value >= drm_unknown(DrmCause::kPastKernel);
  return is_one ? static_cast<DrmCause>(-value) : DrmCause::kNotYet;
}

struct DrmReason {
  record::State state;
  std::string_view text;  // empty: not worth saying
};

constexpr DrmReason reason_of(DrmCause cause) noexcept {
  using record::State;
  switch (cause) {
    case DrmCause::kNoThread:
      return {State::kNotSupported, "no thread could be started to read it"};
    case DrmCause::kNoFile:
      return {State::kNotSupported, "the card's driver shows no such number in sysfs"};
    case DrmCause::kNoAnswer:
      return {State::kNotSupported, "the card's driver has a file for it, but no number"};
    case DrmCause::kRefused:
      return {State::kNotPermitted, "the file of the card's driver can't be opened"};
    case DrmCause::kAsleep:
      return {State::kNotYet, "the card sleeps"};
    case DrmCause::kBusy:
      return {State::kNotYet, "the card falls asleep or is being reset"};
    case DrmCause::kGone:
      return {State::kVanished, "the card or its driver was removed"};
    case DrmCause::kSilent:
      return {State::kNotYet, "the card's driver doesn't answer"};
    case DrmCause::kOdd:
      return {State::kNotYet, "the card's driver gives what can't be true"};
    case DrmCause::kTreeGone:
      return {State::kVanished, ""};
    case DrmCause::kTreeRefused:
      return {State::kNotPermitted, "the descriptors of a process of the tree can't be listed"};
    case DrmCause::kUntold:
      return {State::kNotSupported,
              "the card's driver doesn't tell it of each descriptor (amdgpu and i915 do from Linux "
              "5.19, xe from 6.8)"};
    case DrmCause::kNoMemory:
      return {State::kNotSupported,
              "the card has no memory of its own, or its driver doesn't tell"};
    case DrmCause::kPastKernel:
      return {State::kNotSupported,
              "ROCm gives its work to the card past the kernel (/dev/kfd), which can't count it"};
    case DrmCause::kNotYet:
      break;
  }
  return {State::kNotYet, ""};
}

}  // namespace probe
