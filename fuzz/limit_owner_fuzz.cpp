// Whose limit a group's is: paths of groups are whatever somebody called them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/oom_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool own : {false, true}) {
    const auto words = probe::limit_owner(text, own);
    constexpr std::size_t kMostBytes = 300;
    if (words.size() > kMostBytes) __builtin_trap();
    if (!std::ranges::all_of(words, [](char c) { return c >= ' ' && c <= '~'; })) __builtin_trap();
  }
  return 0;
}
