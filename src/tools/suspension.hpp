#pragma once
// Notices that the machine slept: CLOCK_BOOTTIME goes on meanwhile, CLOCK_MONOTONIC doesn't
// (clock_gettime(2)).

#include <cstdint>
#include <optional>

#include "record/records.hpp"

namespace tools {

class Suspension {
 public:
  // Both clocks, read one after the other, at each sample. A gap from the sample before when the
  // machine slept in between for longer than it takes to read them.
  std::optional<record::Gap> note(std::int64_t monotonic_ns, std::int64_t boot_ns);

 private:
  std::int64_t last_ns_ = 0;
  std::int64_t ahead_ns_ = 0;
};

}  // namespace tools
