#include "record/rows.hpp"

#include <algorithm>

#include "record/bytes.hpp"

namespace record {
namespace {

enum class Coding : std::uint8_t { kConstant = 0, kDifferences = 1 };

// Differences wrap around, so that hostile or broken values never overflow.
std::int64_t difference(std::int64_t later, std::int64_t earlier) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(later) -
                                   static_cast<std::uint64_t>(earlier));
}
std::int64_t sum(std::int64_t value, std::int64_t step) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) +
                                   static_cast<std::uint64_t>(step));
}

template <typename ValueAt>
void encode_series(std::size_t count, ValueAt value_at, ByteWriter& writer) {
  const std::int64_t first = value_at(0);
  bool constant = true;
  for (std::size_t row = 1; row < count && constant; ++row) constant = value_at(row) == first;
  writer.u8(static_cast<std::uint8_t>(constant ? Coding::kConstant : Coding::kDifferences));
  writer.svarint(first);
  if (constant) return;
  std::int64_t previous = first;
  for (std::size_t row = 1; row < count; ++row) {
    writer.svarint(difference(value_at(row), previous));
    previous = value_at(row);
  }
}

bool skip_series(std::size_t count, ByteReader& reader) noexcept {
  const std::uint8_t coding = reader.u8();
  reader.skip_varints(coding == static_cast<std::uint8_t>(Coding::kConstant) ? 1 : count);
  return reader.ok() && coding <= static_cast<std::uint8_t>(Coding::kDifferences);
}

template <typename Store>
bool decode_series(std::size_t count, ByteReader& reader, Store store) {
  const std::uint8_t coding = reader.u8();
  std::int64_t value = reader.svarint();
  if (coding > static_cast<std::uint8_t>(Coding::kDifferences)) return false;
  if (coding == static_cast<std::uint8_t>(Coding::kConstant)) {
    for (std::size_t row = 0; row < count; ++row) store(row, value);
    return reader.ok();
  }
  store(0, value);
  std::size_t row = 0;
  reader.svarints(count - 1, [&](std::int64_t difference) {
    value = sum(value, difference);
    store(++row, value);
  });
  return reader.ok();
}

// Only the first value, and the others unknown.
bool decode_first(std::size_t count, ByteReader& reader, Value* values) {
  const std::uint8_t coding = reader.u8();
  values[0] = reader.svarint();
  std::fill(values + 1, values + count, unknown(State::kNotYet));
  if (coding > static_cast<std::uint8_t>(Coding::kDifferences)) return false;
  if (coding != static_cast<std::uint8_t>(Coding::kConstant)) reader.skip_varints(count - 1);
  return reader.ok();
}

void resize(Rows& rows, std::size_t count, std::size_t columns) {
  rows.count = count;
  rows.columns = columns;
  rows.time_ns.resize(count);
  rows.duration_ns.resize(count);
  rows.cpu_ns.resize(count);
  rows.flags.resize(count);
  rows.values.resize(count * columns);
}

struct Size {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

// What sealed rows begin with; nullopt where they claim to be more than any chunk holds.
std::optional<Size> sealed_size(ByteReader& reader) noexcept {
  Size size;
  size.rows = reader.varint();
  size.columns = reader.count(2);
  if (!reader.ok() || size.rows > kMostDecodedRows) return std::nullopt;
  if (size.columns > 0 && size.rows > kMostDecodedValues / size.columns) return std::nullopt;
  return size;
}

}  // namespace

void encode_plain_row(const Sample& sample, std::string& out) {
  ByteWriter writer(out);
  writer.svarint(sample.time_ns);
  writer.svarint(sample.duration_ns);
  writer.svarint(sample.cpu_ns);
  writer.u8(sample.flags);
  writer.varint(sample.values.size());
  for (const Value value : sample.values) writer.svarint(value);
}

std::optional<Rows> decode_plain_row(std::string_view bytes) {
  ByteReader reader(bytes);
  Rows rows;
  const std::int64_t time_ns = reader.svarint();
  const std::int64_t duration_ns = reader.svarint();
  const std::int64_t cpu_ns = reader.svarint();
  const std::uint8_t flags = reader.u8();
  const std::size_t columns = reader.count(1);
  if (!reader.ok()) return std::nullopt;
  resize(rows, 1, columns);
  rows.time_ns[0] = time_ns;
  rows.duration_ns[0] = duration_ns;
  rows.cpu_ns[0] = cpu_ns;
  rows.flags[0] = flags;
  for (Value& value : rows.values) value = reader.svarint();
  if (!reader.ok()) return std::nullopt;
  return rows;
}

void encode_sealed_rows(const std::vector<Sample>& samples, std::size_t count, std::string& out) {
  ByteWriter writer(out);
  const std::size_t columns = count > 0 ? samples[0].values.size() : 0;
  writer.varint(count);
  writer.varint(columns);
  if (count == 0) return;
  encode_series(count, [&](std::size_t row) { return samples[row].time_ns; }, writer);
  encode_series(count, [&](std::size_t row) { return samples[row].duration_ns; }, writer);
  encode_series(count, [&](std::size_t row) { return samples[row].cpu_ns; }, writer);
  encode_series(count, [&](std::size_t row) { return std::int64_t{samples[row].flags}; }, writer);
  for (std::size_t column = 0; column < columns; ++column) {
    encode_series(count, [&](std::size_t row) { return samples[row].values[column]; }, writer);
  }
}

std::optional<Rows> decode_sealed_rows(std::string_view bytes, const std::vector<char>& seldom) {
  ByteReader reader(bytes);
  const auto size = sealed_size(reader);
  if (!size) return std::nullopt;
  const auto [count, columns] = *size;
  Rows rows;
  resize(rows, count, columns);
  if (count == 0) return rows;
  const auto into = [](auto& series) {
    return [&series](std::size_t row, std::int64_t value) {
      series[row] = static_cast<std::remove_reference_t<decltype(series[0])>>(value);
    };
  };
  bool good = decode_series(count, reader, into(rows.time_ns)) &&
              decode_series(count, reader, into(rows.duration_ns)) &&
              decode_series(count, reader, into(rows.cpu_ns)) &&
              decode_series(count, reader, into(rows.flags));
  for (std::size_t column = 0; column < columns && good; ++column) {
    Value* values = rows.values.data() + column * count;
    if (seldom.size() == columns && seldom[column] != 0) {
      good = decode_first(count, reader, values);
      continue;
    }
    good = decode_series(count, reader,
                         [values](std::size_t row, Value value) { values[row] = value; });
  }
  if (!good) return std::nullopt;
  return rows;
}

bool scan_sealed_rows(std::string_view bytes, RowTimes& times) {
  constexpr std::size_t kOtherSeries = 3;  // durations, CPU times, flags
  ByteReader reader(bytes);
  times.time_ns.clear();
  const auto size = sealed_size(reader);
  if (!size) return false;
  times.columns = size->columns;
  times.time_ns.resize(size->rows);
  if (size->rows == 0) return true;
  bool good = decode_series(
      size->rows, reader, [&](std::size_t row, std::int64_t value) { times.time_ns[row] = value; });
  for (std::size_t series = 0; series < kOtherSeries + size->columns && good; ++series) {
    good = skip_series(size->rows, reader);
  }
  return good;
}

}  // namespace record
