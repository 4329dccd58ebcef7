#pragma once
// Little-endian bytes with varints. ByteReader treats its input as hostile: every read is bounded,
// the first failure sticks (ok() is false, all later reads give zeros), nothing is allocated
// beyond what the input's own size allows.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace record {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is little-endian");

// Small magnitudes of either sign become small numbers: 0, -1, 1, -2 -> 0, 1, 2, 3.
constexpr std::uint64_t zigzag(std::int64_t value) noexcept {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

class ByteWriter {
 public:
  // Appends to `out`, which must outlive the writer.
  explicit ByteWriter(std::string& out) noexcept : out_(out) {}

  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u32(std::uint32_t value) { fixed(value); }
  void u64(std::uint64_t value) { fixed(value); }
  void f64(double value) { fixed(value); }
  // 7 bits a byte, lowest first, the top bit says that more follow; at most 10 bytes.
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      u8(static_cast<std::uint8_t>(value) | 0x80);
      value >>= 7;
    }
    u8(static_cast<std::uint8_t>(value));
  }
  void svarint(std::int64_t value) { varint(zigzag(value)); }
  void text(std::string_view value) {
    varint(value.size());
    out_.append(value);
  }

 private:
  template <typename T>
  void fixed(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    out_.append(raw, sizeof value);
  }

  std::string& out_;
};

// The lower seven bits of each of the eight bytes, lowest first.
constexpr std::uint64_t joined_sevens(std::uint64_t bytes) noexcept {
  bytes = (bytes & 0x007F007F007F007FU) | ((bytes & 0x7F007F007F007F00U) >> 1U);
  bytes = (bytes & 0x00003FFF00003FFFU) | ((bytes & 0x3FFF00003FFF0000U) >> 2U);
  return (bytes & 0x000000000FFFFFFFU) | ((bytes & 0x0FFFFFFF00000000U) >> 4U);
}

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) noexcept : rest_(bytes) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

  std::uint8_t u8() noexcept { return fixed<std::uint8_t>(); }
  std::uint32_t u32() noexcept { return fixed<std::uint32_t>(); }
  std::uint64_t u64() noexcept { return fixed<std::uint64_t>(); }
  double f64() noexcept { return fixed<double>(); }
  std::uint64_t varint() noexcept {
    // Up to eight bytes at once, without a branch that depends on how many they are.
    if (ok_ && rest_.size() >= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, rest_.data(), sizeof word);
      const std::uint64_t ends = ~word & 0x8080808080808080U;
      if (ends != 0) {
        rest_.remove_prefix((static_cast<unsigned>(__builtin_ctzll(ends)) >> 3U) + 1);
        return joined_sevens(word & (ends ^ (ends - 1)));
      }
    }
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return ok_ ? value : 0;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t svarint() noexcept { return unzigzag(varint()); }
  // As `count` calls of varint() whose values nobody needs; eight bytes at a time.
  void skip_varints(std::size_t count) noexcept {
    constexpr std::uint64_t kTops = 0x8080'8080'8080'8080;
    constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
    int length = 0;  // of the number that began before, so far
    while (count > 0 && ok_ && rest_.size() >= sizeof kTops) {
      std::uint64_t word = 0;
      std::memcpy(&word, rest_.data(), sizeof word);
      std::uint64_t ends = ~word & kTops;  // a bit in each byte that ends a number
      const int before = ends == 0 ? 8 : std::countr_zero(ends) / 8;
      ok_ = length + before < kMostVarintBytes;  // those that begin in the word are short enough
      const std::size_t ended = ((ends >> 7) * kOnes) >> 56;
      if (ended >= count) {
        for (; count > 1; --count) ends &= ends - 1;
        rest_.remove_prefix(static_cast<std::size_t>(std::countr_zero(ends)) / 8 + 1);
        return;
      }
      length = ended == 0 ? length + before : std::countl_zero(ends) / 8;
      count -= ended;
      rest_.remove_prefix(sizeof word);
    }
    for (; count > 0 && ok_; --count, length = 0) {
      while ((u8() & 0x80) != 0) {
        if (++length >= kMostVarintBytes) ok_ = false;
      }
    }
  }
  // The same so many times. Where the values end is found for 64 bytes at once, so that reading
  // one doesn't wait for the length of the one before.
  template <typename Take>
  void svarints(std::size_t count, Take take) noexcept {
    while (ok_ && count > 0 && rest_.size() >= kBlockBytes + sizeof(std::uint64_t)) {
      const char* block = rest_.data();
      std::uint64_t ends = ends_of(block);
      std::size_t begin = 0;
      for (; count > 0 && ends != 0; ends &= ends - 1) {
        const auto behind = static_cast<std::size_t>(__builtin_ctzll(ends)) + 1;
        const std::size_t length = behind - begin;
        if (length > sizeof(std::uint64_t)) break;
        std::uint64_t word = 0;
        std::memcpy(&word, block + begin, sizeof word);
        take(unzigzag(joined_sevens(word & (~std::uint64_t{0} >> (64 - 8 * length)))));
        begin = behind;
        --count;
      }
      rest_.remove_prefix(begin);
      if (begin == 0) break;
      if (ends != 0 && count > 0) {  // a long one
        take(svarint());
        --count;
      }
    }
    for (; count > 0; --count) take(svarint());
  }
  std::string_view text() noexcept {
    const std::uint64_t size = varint();
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }
  // A count of things that take at least `least_bytes` each: fails when the input can't hold them.
  std::size_t count(std::size_t least_bytes) noexcept {
    const std::uint64_t value = varint();
    if (!ok_ || value > rest_.size() / least_bytes) {
      ok_ = false;
      return 0;
    }
    return value;
  }

 private:
  static constexpr std::size_t kBlockBytes = 64;

  // A bit for each byte of the block that ends a number.
  static std::uint64_t ends_of(const char* block) noexcept {
    std::uint64_t ends = 0;
    for (unsigned i = 0; i < kBlockBytes / 8; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, block + std::size_t{8} * i, sizeof word);
      ends |= ((((~word & 0x8080808080808080U) >> 7U) * 0x0102040810204080U) >> 56U) << (8 * i);
    }
    return ends;
  }

  template <typename T>
  T fixed() noexcept {
    T value{};
    if (!ok_ || rest_.size() < sizeof value) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }

  static constexpr int kMostVarintBytes = 10;

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace record
