#include "store/frame.hpp"

#include <algorithm>

namespace store {
namespace {

constexpr std::string_view kRootPrefix = "root_";

template <std::size_t count>
std::optional<std::size_t> place_of(std::string_view metric,
                                    const std::array<std::string_view, count>& names) noexcept {
  const auto found = std::find(names.begin(), names.end(), metric);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

LevelColumns::LevelColumns(const record::Schema& schema, std::string_view level) {
  for (std::size_t column = 0; column < schema.columns.size(); ++column) {
    std::string_view name = schema.columns[column].name;
    if (!name.starts_with(level) || !name.substr(level.size()).starts_with('.')) continue;
    present_ = true;
    name.remove_prefix(level.size() + 1);
    if (const auto counter = place_of(name, kCounterNames)) total_[*counter] = column;
    if (const auto gauge = place_of(name, kGaugeNames)) gauge_[*gauge] = column;
    if (!name.starts_with(kRootPrefix)) continue;
    name.remove_prefix(kRootPrefix.size());
    if (const auto counter = place_of(name, kCounterNames)) root_[*counter] = column;
  }
}

Frame LevelColumns::frame(const record::Rows& rows, std::size_t row) const noexcept {
  const auto value = [&](const Place& place) {
    return place && *place < rows.columns ? rows.at(*place, row)
                                          : record::unknown(record::State::kNotSupported);
  };
  Frame frame;
  frame.time_ns = rows.time_ns[row];
  frame.edge = (rows.flags[row] & record::kEdgeSample) != 0;
  for (std::size_t i = 0; i < kCounters; ++i) {
    frame.total[i] = value(total_[i]);
    frame.root[i] = value(root_[i]);
  }
  for (std::size_t i = 0; i < kGauges; ++i) frame.gauge[i] = value(gauge_[i]);
  return frame;
}

}  // namespace store
