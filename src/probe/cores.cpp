#include "probe/cores.hpp"

#include <algorithm>
#include <optional>

#include "probe/scan.hpp"

namespace probe {

std::vector<std::int64_t> parse_core_list(std::string_view text) {
  std::vector<std::int64_t> cores;
  text = text.substr(0, text.find('\n'));
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    text.remove_prefix(std::min(range.size() + 1, text.size()));
    const auto dash = range.find('-');
    const auto first = Scanner(range.substr(0, dash)).number();
    const auto last =
        dash == std::string_view::npos ? first : Scanner(range.substr(dash + 1)).number();
    if (!first || !last || *last >= kMostCores) continue;
    // Ascending in every real list; that also bounds a hostile one.
    const std::int64_t next = cores.empty() ? 0 : cores.back() + 1;
    for (std::int64_t core = std::max(*first, next); core <= *last; ++core) cores.push_back(core);
  }
  return cores;
}

}  // namespace probe
