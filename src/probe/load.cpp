#include "probe/load.hpp"

#include "probe/scan.hpp"

namespace probe {

std::optional<std::int64_t> parse_loadavg(std::string_view text) noexcept {
  Scanner words(text);
  words.skip_words(3);
  const std::string_view counts = words.word();
  const auto slash = counts.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return Scanner(counts.substr(slash + 1)).number();
}

}  // namespace probe
