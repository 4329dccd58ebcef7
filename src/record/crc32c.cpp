#include "record/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace record {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  constexpr std::uint32_t kReversedPolynomial = 0x82F63B78;
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    }
    tables[0][byte] = crc;
  }
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    for (std::size_t table = 1; table < tables.size(); ++table) {
      const std::uint32_t previous = tables[table - 1][byte];
      tables[table][byte] = (previous >> 8) ^ tables[0][previous & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

// The processor's instruction, where it has one. `crc` inverted, here and there.
#if defined(__x86_64__)
bool has_instruction() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }

__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::uint32_t crc, const char* at,
                                                               std::size_t size) noexcept {
  std::uint64_t wide = crc;
  for (; size >= 8; size -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; size > 0; --size, ++at) crc = _mm_crc32_u8(crc, static_cast<std::uint8_t>(*at));
  return crc;
}
#elif defined(__aarch64__)
bool has_instruction() noexcept {
  constexpr unsigned long kHwcapCrc32 = 1UL << 7;  // HWCAP_CRC32 of asm/hwcap.h
  return (::getauxval(AT_HWCAP) & kHwcapCrc32) != 0;
}

__attribute__((target("+crc"))) std::uint32_t by_instruction(std::uint32_t crc, const char* at,
                                                             std::size_t size) noexcept {
  for (; size >= 8; size -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    crc = __builtin_aarch64_crc32cx(crc, word);
  }
  for (; size > 0; --size, ++at) {
    crc = __builtin_aarch64_crc32cb(crc, static_cast<std::uint8_t>(*at));
  }
  return crc;
}
#endif

}  // namespace

std::uint32_t crc32c_by_tables(std::uint32_t crc, std::string_view bytes) noexcept {
  crc = ~crc;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    word ^= crc;
    crc = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) {
      crc ^= kTables[7 - byte][(word >> (8 * byte)) & 0xFF];
    }
  }
  for (; left > 0; --left, ++at) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint8_t>(*at)) & 0xFF];
  }
  return ~crc;
}

std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes) noexcept {
  static const bool kHasInstruction = has_instruction();
  if (!kHasInstruction) return crc32c_by_tables(crc, bytes);
  return ~by_instruction(~crc, bytes.data(), bytes.size());
}

}  // namespace record
