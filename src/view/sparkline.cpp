#include "view/sparkline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace view {
namespace {

constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

std::string_view block_of(double value, double bottom, double top) noexcept {
  if (std::isnan(value)) return " ";
  if (!(top > bottom)) return kBlocks.front();
  // Both divided first: the difference of two huge numbers may be infinite.
  const double span = top / 2 - bottom / 2;
  const double share = (std::clamp(value, bottom, top) / 2 - bottom / 2) / span;
  if (!(share > 0)) return kBlocks.front();
  const auto step = static_cast<std::size_t>(std::lround(share * (kBlocks.size() - 1)));
  return kBlocks[std::min(step, kBlocks.size() - 1)];
}

}  // namespace

std::string sparkline(std::span<const double> values, double bottom, double top) {
  std::string line;
  for (const double value : values) line += block_of(value, bottom, top);
  return line;
}

}  // namespace view
