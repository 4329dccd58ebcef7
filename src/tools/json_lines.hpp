#pragma once
// Records as JSON, one object a line (`jumper dump --json`, `jumper sample --json`).

#include <string>

#include "record/log.hpp"
#include "record/records.hpp"

namespace tools {

// {"kind": "cell_begin", "index": 1, …}; an unknown value is null. Bytes that aren't UTF-8 are
// replaced by U+FFFD.
std::string record_json(const record::Record& record);

// {"kind": "row", "time_ns": …, "flags": ["edge"], "values": {"process.cpu_time_ns": 1, …}}
std::string row_json(const record::Rows& rows, std::size_t row, const record::Schema& schema);

// {"kind": "damage", "offset": …, "bytes": …, "what": "…"}
std::string damage_json(const record::Damage& damage);

}  // namespace tools
