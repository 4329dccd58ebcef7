#pragma once
// The trees of tests/data/hosts/made, whose process is 700.

#include <sys/types.h>

#include <string>

namespace probe {

inline constexpr pid_t kMadePid = 700;

inline std::string made_host(const std::string& kind) {
  return JUMPER_TEST_DATA "/hosts/made/" + kind;
}

}  // namespace probe
