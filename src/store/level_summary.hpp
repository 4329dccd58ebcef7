#pragma once
// The figures of one level of a cell, out of what its samples and marks say.

#include "record/records.hpp"
#include "store/cell_span.hpp"
#include "store/level_track.hpp"
#include "store/reasons.hpp"
#include "store/summary.hpp"

namespace store {

// `machine` may be nullptr. Appends to summary.levels, .unknown and .notes; summary.ticks is set.
void add_level(const LevelTrack& track, const CellSpan& span, const record::Machine* machine,
               const Reasons& reasons, CellSummary& summary);

}  // namespace store
