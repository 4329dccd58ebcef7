#pragma once
// The version, from pyproject.toml by CMake.

#include <string_view>

namespace tools {

#ifdef JUMPER_VERSION
inline constexpr std::string_view kVersionText = JUMPER_VERSION;
#else
inline constexpr std::string_view kVersionText = "0.0.0";
#endif

}  // namespace tools
