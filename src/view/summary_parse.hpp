#pragma once
// A summary's JSON read back: notebooks keep it under their cells.

#include <optional>
#include <string_view>

#include "store/summary.hpp"

namespace view {

// The first version's object, as summary_json() writes it, whole or without what notebooks leave
// out. nullopt for anything else. What has the wrong type counts as left out: any bytes do.
std::optional<store::CellSummary> parse_summary(std::string_view json);

}  // namespace view
