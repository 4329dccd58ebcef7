#pragma once
// Which line of a file an instruction of a Python code object belongs to.
//
// co_linetable of CPython 3.11 to 3.13 (Objects/locations.md): entries, each for the next few code
// units (two bytes each) of the bytecode:
//   u8 1ccccLLL   c = kind, L = code units - 1; then bytes below 0x80:
//   c 0..9  one byte                          the line of before
//   c 10..12  two bytes                       c - 10 lines further
//   c 13  svarint lines                       no columns
//   c 14  svarint lines, three varints
//   c 15                                      no line at all
// varint: six bits a byte, lowest first, 0x40 = more; svarint: its lowest bit is the sign.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace watch {

// The line of the instruction at `offset` (bytes from the first one), as co_lines() has it. nullopt
// where that has none, beyond the table's end, and for bytes that are no such table (they come out
// of memory that may be torn). One pass, nothing is allocated.
std::optional<std::int64_t> line_of(std::span<const std::uint8_t> table, std::int64_t first_line,
                                    std::size_t offset) noexcept;

}  // namespace watch
