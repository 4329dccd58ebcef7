#include "view/last_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "store/curve.hpp"
#include "view/sparkline.hpp"
#include "view/units.hpp"

namespace view {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kMostNs = 60 * kSecondNs;
constexpr std::size_t kColumns = 40;

}  // namespace

std::string last_curve(const store::Recording& recording, const store::Ending& ending) {
  using Kind = store::Ending::Kind;
  const std::int64_t end_ns = recording.last_sample_ns();
  if (ending.kind == Kind::kClosed || ending.kind == Kind::kRunning || end_ns <= 0) return "";
  std::int64_t begin_ns = std::max(end_ns - std::min(end_ns, kMostNs), recording.first_sample_ns());
  if (ending.cell != nullptr) begin_ns = std::max(begin_ns, ending.cell->begin.time_ns);
  if (begin_ns >= end_ns) return "";
  const std::vector<double> values =
      store::curve_of(recording, "process.memory_bytes", begin_ns, end_ns, kColumns);
  double highest = 0;
  double last = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    highest = std::max(highest, value);
    last = value;
  }
  if (highest <= 0) return "";
  return fmt::format(
      "{}  {} in the last {:.3g} s, max {}", sparkline(values, 0, highest), bytes_text(last),
      static_cast<double>(end_ns - begin_ns) / static_cast<double>(kSecondNs), bytes_text(highest));
}

}  // namespace view
