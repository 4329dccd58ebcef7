#pragma once
// This process's open descriptors, to see that none was left behind.

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>

namespace engine {

inline std::set<std::string> open_files() {
  std::set<std::string> numbers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    numbers.insert(entry.path().filename());
  }
  return numbers;
}

}  // namespace engine
