#include "record/log.hpp"

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "base/memory.hpp"
#include "record/codec.hpp"
#include "record/crc32c.hpp"
#include "record/examples.hpp"
#include "record/text.hpp"

namespace record {
namespace {

std::string bytes_of(const base::File& file) {
  std::string bytes(*base::file_size(file.fd()), '\0');
  EXPECT_EQ(base::read_at(file.fd(), bytes, 0), bytes.size());
  return bytes;
}

// Every chunk in short: "settings" or the times of its rows.
std::vector<std::string> contents(LogReader& reader) {
  std::vector<std::string> lines;
  while (const auto chunk = reader.next()) {
    if (chunk->kind == ChunkKind::kPlainRow) {
      lines.push_back("plain " + std::to_string(decode_plain_row(chunk->payload)->time_ns[0]));
    } else if (chunk->kind == ChunkKind::kSealedRows) {
      std::string line = "sealed";
      const Rows rows = decode_sealed_rows(chunk->payload).value_or(Rows{});
      for (const std::int64_t time : rows.time_ns) {
        line += " " + std::to_string(time);
      }
      lines.push_back(line);
    } else {
      const auto record = decode(chunk->kind, chunk->payload);
      lines.push_back(record ? to_line(*record) : "?");
    }
  }
  return lines;
}

std::vector<std::string> contents(std::string_view bytes) {
  LogReader reader(bytes);
  auto lines = contents(reader);
  EXPECT_EQ(reader.damage_count(), 0U);
  return lines;
}

const std::vector<Value> kValues{1, 2, 3, 4, 5, 6, 7, 8};

TEST(Crc32c, KnowsTheVectorsOfTheRfc) {
  EXPECT_EQ(crc32c(0, std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(0, std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(0, "123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(crc32c(0, "1234"), "56789"), 0xE3069283U);
}

TEST(LogWriter, KeepsRecordsAndRowsInTheirOrder) {
  const base::File file = base::make_memfd("test");
  LogWriter writer(file.fd(), 0, 0);
  EXPECT_TRUE(writer.append(Settings{1, 10, {}}));
  for (std::int64_t time : {10, 20, 30, 40})
    EXPECT_TRUE(writer.append_row(sample_at(time, kValues)));
  EXPECT_EQ(contents(bytes_of(file)),
            (std::vector<std::string>{"settings time_ns=1 rate_hz=10", "plain 10", "plain 20",
                                      "plain 30", "plain 40"}));
  EXPECT_TRUE(writer.append(Settings{2, 20, {}}));
  EXPECT_EQ(contents(bytes_of(file)),
            (std::vector<std::string>{"settings time_ns=1 rate_hz=10", "sealed 10 20 30 40",
                                      "settings time_ns=2 rate_hz=20"}));
  EXPECT_EQ(writer.offset(), *base::file_size(file.fd()));
}

TEST(LogWriter, LeavesRowsPlainThatWouldNotGetShorter) {
  const base::File file = base::make_memfd("test");
  LogWriter writer(file.fd(), 0, 0);
  EXPECT_TRUE(writer.append_row(sample_at(10, {1})));
  EXPECT_TRUE(writer.append(Settings{2, 20, {}}));
  EXPECT_EQ(contents(bytes_of(file))[0], "plain 10");
}

TEST(LogWriter, NumbersTheChunksWithoutHoles) {
  const base::File file = base::make_memfd("test");
  LogWriter writer(file.fd(), 0, 5);
  writer.append_row(sample_at(1, {1}));
  for (std::int64_t time : {10, 20, 30, 40}) writer.append_row(sample_at(time, kValues));
  writer.append(Settings{});
  writer.append(Settings{});
  const std::string bytes = bytes_of(file);
  LogReader reader(bytes);
  std::uint32_t expected = 5;
  while (const auto chunk = reader.next()) EXPECT_EQ(chunk->sequence, expected++);
  EXPECT_EQ(writer.sequence(), expected);
}

TEST(LogWriter, GoesOnElsewhereWithItsOpenRows) {
  const base::File full = base::make_memfd("full");
  const base::File memory = base::make_memfd("memory");
  LogWriter writer(full.fd(), 0, 0);
  writer.append(Settings{1, 10, {}});
  const std::size_t whole = writer.offset();
  writer.append_row(sample_at(10, kValues));
  EXPECT_TRUE(writer.move_to(memory.fd(), 0));
  writer.append_row(sample_at(20, kValues));
  const std::string joined = bytes_of(full).substr(0, whole) + bytes_of(memory);
  EXPECT_EQ(contents(joined),
            (std::vector<std::string>{"settings time_ns=1 rate_hz=10", "plain 10", "plain 20"}));
}

// Fault: S1
TEST(LogWriter, SaysThatTheSystemRefusedAndGoesOnLater) {
  const base::File file = base::make_memfd("test");
  LogWriter writer(-1, 0, 0);
  EXPECT_FALSE(writer.append_row(sample_at(10, kValues)));
  EXPECT_FALSE(writer.append(Settings{}));
  EXPECT_TRUE(writer.move_to(file.fd(), 0));
  EXPECT_TRUE(writer.append_row(sample_at(20, kValues)));
  EXPECT_EQ(contents(bytes_of(file)), (std::vector<std::string>{"plain 20"}));
}

std::string example_log() {
  const base::File file = base::make_memfd("test");
  LogWriter writer(file.fd(), 0, 0);
  for (const Record& record : one_of_each()) writer.append(record);
  for (std::int64_t time = 10; time < 100; time += 10) writer.append_row(sample_at(time, kValues));
  writer.append(Settings{});
  writer.append_row(sample_at(200, kValues));
  return bytes_of(file);
}

// Fault: S5
TEST(LogReader, ReadsEveryPrefix) {
  const std::string bytes = example_log();
  const auto whole = contents(bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string_view cut = std::string_view(bytes).substr(0, size);
    LogReader reader(cut);
    const auto lines = contents(reader);
    ASSERT_LE(lines.size(), whole.size());
    for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i], whole[i]);
    // Either the cut is between two chunks, or it is said.
    EXPECT_EQ(reader.damage_count(), reader.position() == size ? 0U : 1U) << size;
  }
}

// Fault: S5
TEST(LogReader, LosesOnlyTheChunkThatAFlippedBitHits) {
  const std::string bytes = example_log();
  const auto whole = contents(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 3) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    LogReader reader(flipped);
    const auto lines = contents(reader);
    EXPECT_EQ(reader.damage_count(), 1U) << bit;
    std::size_t found = 0;  // every line that is there stands in the whole, in order
    for (const std::string& line : lines) {
      while (found < whole.size() && whole[found] != line) ++found;
      ASSERT_LT(found++, whole.size()) << line;
    }
    EXPECT_EQ(lines.size(), whole.size() - 1) << bit;
  }
}

TEST(LogReader, PassesOverAChunkOfALaterVersionAndSaysSo) {
  std::string bytes = example_log();
  std::string later;
  append_chunk(ChunkKind::kSettings, 0, "?", later);
  later[kMagic.size()] = kVersion + 1;
  const std::uint32_t checksum =
      crc32c(crc32c(0, std::string_view(later).substr(0, 20)), std::string_view(later).substr(24));
  later.replace(20, 4, reinterpret_cast<const char*>(&checksum), 4);
  const std::string joined = later + bytes;
  LogReader reader(joined);
  EXPECT_EQ(contents(reader), contents(bytes));
  EXPECT_TRUE(reader.newer_version());
}

TEST(LogReader, BoundsItsTimeForChunksThatClaimTheWholeFile) {
  std::string bytes;
  constexpr std::size_t kChunks = 200'000;
  for (std::size_t i = 0; i < kChunks; ++i) {
    std::string chunk;
    append_chunk(ChunkKind::kSettings, 0, "", chunk);
    const auto claimed = static_cast<std::uint32_t>((kChunks - i - 1) * chunk.size());
    chunk.replace(12, 4, reinterpret_cast<const char*>(&claimed), 4);
    bytes += chunk;
  }
  LogReader reader(bytes);  // checking each claim would read 480 GB
  while (reader.next()) {
  }
  EXPECT_GE(reader.damage_count(), 1U);
}

TEST(LogReader, BoundsItsMemoryForFilesOfRubbish) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) {
    bytes += kMagic;
    bytes += "\x01\x02\x00\x00rubbish that is no chunk";
    append_chunk(ChunkKind::kSettings, 0, "", bytes);
  }
  LogReader reader(bytes);
  while (reader.next()) {
  }
  EXPECT_GE(reader.damage_count(), 10'000U);
  EXPECT_LE(reader.damages().size(), LogReader::kMostDamages);
}

}  // namespace
}  // namespace record
