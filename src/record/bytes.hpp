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
        rest_.remove_prefix(static_cast<std::size_t>(std::countr_zero(ends) / 8 + 1));
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
