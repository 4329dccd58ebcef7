#pragma once
// What a recording says of the machine, as it was at some time.

#include <cstdint>
#include <string_view>

#include "store/recording.hpp"

namespace store {

// The newest one up to then, else the first; nullptr when there is none. Not longer than the
// recording's next refresh.
const record::Machine* machine_at(const Recording& recording, std::int64_t time_ns);

// The cores that a level may use where no sample says it; 0: unknown. `machine` may be nullptr.
double cores_of(const record::Machine* machine, std::string_view level) noexcept;

}  // namespace store
