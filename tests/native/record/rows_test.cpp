#include "record/rows.hpp"

#include <gtest/gtest.h>

#include <random>

#include "record/bytes.hpp"
#include "record/crc32c.hpp"

namespace record {
namespace {

std::string sealed(std::size_t count, std::size_t columns, std::mt19937_64& chance) {
  std::vector<Sample> samples;
  for (std::size_t row = 0; row < count; ++row) {
    Sample sample{static_cast<std::int64_t>(row * 100'000'000), 5, 7, 0, {}};
    for (std::size_t column = 0; column < columns; ++column) {
      // Every length of a varint; every third column constant.
      const auto value = static_cast<Value>(chance() >> (chance() % 64));
      sample.values.push_back(column % 3 == 0 ? 4096 : value);
    }
    samples.push_back(std::move(sample));
  }
  std::string bytes;
  encode_sealed_rows(samples, count, bytes);
  return bytes;
}

void expect_agreement(const std::string& bytes) {
  RowTimes times;
  const bool good = scan_sealed_rows(bytes, times);
  const auto rows = decode_sealed_rows(bytes);
  ASSERT_EQ(good, rows.has_value());
  if (!rows) return;
  EXPECT_EQ(times.time_ns, rows->time_ns);
  EXPECT_EQ(times.columns, rows->columns);
}

TEST(SealedRows, AreScannedAsTheyAreDecoded) {
  std::mt19937_64 chance(7);  // NOLINT(*-msc51-cpp,*-random-generator-seed)
  for (std::size_t count = 0; count < 40; ++count) {
    expect_agreement(sealed(count, count * 7 % 23, chance));
  }
}

TEST(SealedRows, AreRefusedByTheScanWhereTheyAreByDecoding) {
  std::mt19937_64 chance(8);  // NOLINT(*-msc51-cpp,*-random-generator-seed)
  const std::string whole = sealed(10, 9, chance);
  for (std::size_t size = 0; size < whole.size(); ++size) expect_agreement(whole.substr(0, size));
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = whole;
    for (std::uint64_t changes = chance() % 12; changes > 0; --changes) {
      const std::uint64_t byte = chance();
      // Often one with its top bit: numbers that don't end.
      changed[byte % changed.size()] = static_cast<char>((byte >> 32) | (byte >> 63 << 7));
    }
    expect_agreement(changed);
  }
}

TEST(ByteReader, SkipsVarintsAsItReadsThem) {
  for (std::size_t length = 1; length <= 12; ++length) {
    for (std::size_t before = 0; before < 17; ++before) {
      std::string bytes(before, '\x01');
      bytes.append(length - 1, '\x80').append("\x01\x02\x03");
      ByteReader read(bytes);
      ByteReader skipped(bytes);
      for (std::size_t i = 0; i <= before; ++i) read.varint();
      skipped.skip_varints(before + 1);
      ASSERT_EQ(skipped.ok(), read.ok()) << length << " " << before;
      if (!read.ok()) continue;
      EXPECT_EQ(skipped.left(), read.left()) << length << " " << before;
    }
  }
  ByteReader none("");
  none.skip_varints(0);
  EXPECT_TRUE(none.ok());
  none.skip_varints(1);
  EXPECT_FALSE(none.ok());
}

TEST(Crc32c, IsTheSameByTheInstructionAndFromTables) {
  std::mt19937_64 chance(9);  // NOLINT(*-msc51-cpp,*-random-generator-seed)
  std::string bytes;
  for (int size = 0; size < 100; ++size) {
    EXPECT_EQ(crc32c(17, bytes), crc32c_by_tables(17, bytes)) << size;
    bytes.push_back(static_cast<char>(chance()));
  }
}

}  // namespace
}  // namespace record
