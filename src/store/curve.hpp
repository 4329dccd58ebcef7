#pragma once
// One column over a window of time, cut into equal parts: what a curve is drawn from.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "store/recording.hpp"

namespace store {

// A value for each of `buckets` equal parts of begin_ns..end_ns, in the column's unit: of a gauge
// the highest value (between two samples the earlier one holds), of a counter the mean rate per
// second. NaN where nothing is known: before the first sample, in gaps, where the value was
// unknown, where a counter began anew; everywhere when there is no such column or the window is
// empty. Samples just outside the window count as far as they speak of it.
//
// One pass over the rows of the window, a chunk in memory at a time.
std::vector<double> curve_of(const Recording& recording, std::string_view column,
                             std::int64_t begin_ns, std::int64_t end_ns, std::size_t buckets);

}  // namespace store
