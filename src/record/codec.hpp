#pragma once
// Bytes of every record: a chunk's payload in the recording, and a mark's message after its first
// byte. New fields are only ever added at the end; a decoder ignores what it doesn't know.

#include <optional>
#include <string>
#include <string_view>

#include "record/log.hpp"
#include "record/records.hpp"

namespace record {

void encode(const Record& record, std::string& out);

// nullopt for bytes that aren't a record of that kind. Strings are taken as they are (foreign
// bytes: views escape them).
std::optional<Record> decode(ChunkKind kind, std::string_view payload);

}  // namespace record
