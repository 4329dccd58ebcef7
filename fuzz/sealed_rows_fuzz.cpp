// Sealed rows: looked through and decoded, they are the same, and are refused alike.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "record/rows.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  record::RowTimes times;
  const bool good = record::scan_sealed_rows(bytes, times);
  const auto rows = record::decode_sealed_rows(bytes);
  if (good != rows.has_value()) __builtin_trap();
  if (rows && (rows->time_ns != times.time_ns || rows->columns != times.columns)) {
    __builtin_trap();
  }
  return 0;
}
