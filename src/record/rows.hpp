#pragma once
// Samples by the chunk, column after column, and their two codings.
//
//   plain (one row, appended at every tick):
//     svarint time_ns  varint duration_ns  varint cpu_ns  u8 flags  varint n  n * svarint value
//   sealed (the rows of about one second):
//     varint rows  varint columns
//     the series time_ns, duration_ns, cpu_ns, flags, then every column, each as
//       u8 0, svarint first                                  all rows alike
//       u8 1, svarint first, (rows - 1) * svarint difference to the row before

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/records.hpp"

namespace record {

// `columns` series of `count` values each; value of column c in row r = values[c * count + r].
struct Rows {
  std::size_t count = 0;
  std::size_t columns = 0;
  std::vector<std::int64_t> time_ns;
  std::vector<std::int64_t> duration_ns;
  std::vector<std::int64_t> cpu_ns;
  std::vector<std::uint8_t> flags;
  std::vector<Value> values;

  [[nodiscard]] Value at(std::size_t column, std::size_t row) const noexcept {
    return values[column * count + row];
  }
};

void encode_plain_row(const Sample& sample, std::string& out);

// Rows of one schema, oldest first; all must have as many values as the first.
void encode_sealed_rows(const std::vector<Sample>& samples, std::size_t count, std::string& out);

// nullopt for bytes that aren't such rows. A decoded chunk never takes more than
// kMostDecodedValues values, whatever its bytes claim (constant columns compress without bound).
inline constexpr std::size_t kMostDecodedValues = 1U << 22;
inline constexpr std::size_t kMostDecodedRows = 1U << 16;  // a second has some thousand at most
std::optional<Rows> decode_plain_row(std::string_view bytes);
// `seldom`, when it has as many items as there are columns: of a column whose item isn't 0 only the
// first row is read, in the others it is kNotYet.
std::optional<Rows> decode_sealed_rows(std::string_view bytes,
                                       const std::vector<char>& seldom = {});

// The same bytes looked through, ten times as fast: `times` holds when the rows were read. False
// where decode_sealed_rows() gives nothing.
struct RowTimes {
  std::size_t columns = 0;
  std::vector<std::int64_t> time_ns;
};
bool scan_sealed_rows(std::string_view bytes, RowTimes& times);

}  // namespace record
