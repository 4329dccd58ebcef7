// What kernel and sampler tell each other.

#include <cstddef>
#include <cstdint>

#include "record/marks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto message = record::decode_message(bytes)) {
    std::string again;
    record::encode_message(*message, again);
    if (!record::decode_message(again)) __builtin_trap();
  }
  return 0;
}
