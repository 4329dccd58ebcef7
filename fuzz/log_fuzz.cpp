// The reader of a recording's bytes, and every decoder behind it.

#include <cstddef>
#include <cstdint>

#include "record/codec.hpp"
#include "record/text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  record::LogReader reader(bytes);
  record::Schema schema;
  while (const auto chunk = reader.next()) {
    if (const auto record = record::decode(chunk->kind, chunk->payload)) record::to_line(*record);
  }
  // Without the checksum in the way: the first byte chooses the decoder.
  if (size == 0) return 0;
  const std::string_view payload = bytes.substr(1);
  if (const auto record = record::decode(static_cast<record::ChunkKind>(data[0]), payload)) {
    record::to_line(*record);
  }
  for (const auto& rows :
       {record::decode_sealed_rows(payload), record::decode_plain_row(payload)}) {
    if (rows && rows->count > 0) record::row_line(*rows, rows->count - 1, schema, true);
  }
  return 0;
}
