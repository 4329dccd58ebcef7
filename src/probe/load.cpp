#include "probe/load.hpp"

#include "probe/scan.hpp"

namespace probe {
namespace {

// "0.84", always two digits behind the point.
std::optional<std::int64_t> milli(std::string_view text) noexcept {
  const auto point = text.find('.');
  if (point == std::string_view::npos || text.size() - point != 3) return std::nullopt;
  const auto whole = Scanner(text.substr(0, point)).number_times(1000);
  const auto hundredths = Scanner(text.substr(point + 1)).number_times(10);
  if (!whole || !hundredths) return std::nullopt;
  return *whole + *hundredths;
}

}  // namespace

std::optional<Load> parse_loadavg(std::string_view text) noexcept {
  Scanner words(text);
  Load load;
  if (const auto value = milli(words.word())) load.load_1min_milli = *value;
  words.skip_words(2);
  const std::string_view counts = words.word();
  const auto slash = counts.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto threads = Scanner(counts.substr(slash + 1)).number();
  if (!threads) return std::nullopt;
  load.threads = *threads;
  return load;
}

}  // namespace probe
