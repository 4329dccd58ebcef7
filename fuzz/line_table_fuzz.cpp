// Any bytes as co_linetable, after four of a first line: offsets all over it are asked for.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "watch/line_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kAsked = 16;
  std::int32_t first_line = 0;
  if (size < sizeof first_line) return 0;
  std::memcpy(&first_line, data, sizeof first_line);
  const std::span<const std::uint8_t> table(data + sizeof first_line, size - sizeof first_line);
  const std::size_t step = 16 * table.size() / kAsked + 2;
  for (std::size_t offset = 0; offset < 16 * table.size(); offset += step) {
    const auto line = watch::line_of(table, first_line, offset);
    if (line && (*line < 0 || *line > std::numeric_limits<std::int32_t>::max())) __builtin_trap();
  }
  if (watch::line_of(table, first_line, 16 * size)) __builtin_trap();
  return 0;
}
