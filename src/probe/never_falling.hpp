#pragma once

#include <algorithm>

#include "record/value.hpp"

namespace probe {

// A counter as it is shown: a smaller value than before (`before` remembers) repeats the one
// before, one that isn't known stays so.
inline record::Value never_falling(record::Value& before, record::Value now) noexcept {
  if (!record::is_known(now)) return now;
  before = std::max(before, now);
  return before;
}

}  // namespace probe
