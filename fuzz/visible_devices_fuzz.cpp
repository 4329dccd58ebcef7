// /proc/PID/environ, and the list of cards in it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "probe/visible_devices.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<probe::VisibleCandidate> kCards{
      {"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 30},
      {"MIG-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0", 30, true, true,
       "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 1, 0},
      {"", 20, false, false},
      {"GPU-893", 10}};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto visible = probe::parse_environ(text);
  if (visible.list && visible.list->size() > size) __builtin_trap();
  auto selection = probe::select_visible(visible.list, kCards);
  if (!visible.list && selection.chosen.size() != kCards.size()) __builtin_trap();
  std::ranges::sort(selection.chosen);
  if (std::ranges::adjacent_find(selection.chosen) != selection.chosen.end()) __builtin_trap();
  if (!selection.chosen.empty() && selection.chosen.back() >= kCards.size()) __builtin_trap();
  if (selection.unmatched.size() > 64) __builtin_trap();
  return 0;
}
