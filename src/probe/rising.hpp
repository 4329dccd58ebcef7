#pragma once
// A counter as it is shown: it never falls.

#include <algorithm>

#include "probe/scan.hpp"
#include "record/value.hpp"

namespace probe {

class Rising {
 public:
  // A smaller value, or none, repeats the one before; a state is shown while there was no value.
  record::Value next(record::Value now) noexcept {
    if (!record::is_known(now)) {
      if (!record::is_known(shown_)) shown_ = now;
      return shown_;
    }
    if (elsewhere_) offset_ = record::is_known(shown_) ? shown_ - now : 0;
    elsewhere_ = false;
    shown_ = std::min(std::max(now + offset_, shown_), kMostNumber);
    return shown_;
  }

  // What is counted from now on is counted somewhere else, from another start: the next value
  // shows what this one does.
  void go_on_elsewhere() noexcept { elsewhere_ = true; }

 private:
  record::Value shown_ = record::unknown(record::State::kNotYet);
  std::int64_t offset_ = 0;
  bool elsewhere_ = false;
};

}  // namespace probe
