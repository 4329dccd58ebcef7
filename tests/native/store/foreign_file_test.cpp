// What a file that someone names may be: not there, not ours, newer, cut, damaged, hostile.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "record/codec.hpp"
#include "record/crc32c.hpp"
#include "store/recording.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

std::string error_of(const std::string& path) {
  try {
    static_cast<void>(Recording::open(path));
  } catch (const base::Error& error) {
    return error.what();
  }
  return "no error";
}
std::string error_of_bytes(std::string_view bytes) {
  const base::File file = file_of(bytes);
  std::string error = error_of(path_of(file));
  const std::size_t at = error.find(path_of(file));
  return at == error.npos ? error : error.replace(at, path_of(file).size(), "x");
}

Recording open_bytes(std::string_view bytes) {
  const base::File file = file_of(bytes);
  return Recording::open(path_of(file));
}

std::size_t count_rows(const Recording& recording) {
  std::size_t count = 0;
  recording.visit_rows(0, INT64_MAX, [&](const auto&, const record::Rows&, std::size_t) {
    ++count;
    return true;
  });
  return count;
}

// All that a view would ask.
void ask_everything(const Recording& recording) {
  for (const Cell& cell : recording.cells()) {
    static_cast<void>(summarize(recording, cell));
    static_cast<void>(recording.source(cell));
  }
  static_cast<void>(recording.rows_between(0, INT64_MAX));
}

// Two cells, sealed and plain rows, a gap, an end: one of each.
std::string small_recording() {
  Recorder recorder({"process.cpu_time_ns", "process.root_cpu_time_ns", "process.memory_bytes",
                     "node.cpu_time_ns"});
  recorder.add(cell_begin(kStart, kStart + kMs));
  recorder.edge(kStart + kMs);
  for (int tick = 1; tick <= 5; ++tick) {
    recorder.row(kStart + tick * 100 * kMs, {{"process.cpu_time_ns", tick * 90 * kMs}});
  }
  recorder.edge(kStart + 600 * kMs);
  recorder.add(cell_end(kStart + 599 * kMs, kStart + 600 * kMs, marks(500 * kMs)));
  recorder.add(gap(kStart + 600 * kMs, kStart + 900 * kMs));
  recorder.add(cell_begin(kStart + kSecond, 0, marks(510 * kMs), 2));
  recorder.row(kStart + kSecond + kMs);
  recorder.add(record::End{kStart + 2 * kSecond, record::EndCause::kKilled, 9});
  return recorder.bytes();
}

std::vector<std::size_t> chunk_offsets(std::string_view bytes) {
  std::vector<std::size_t> offsets;
  record::LogReader reader(bytes);
  while (const auto chunk = reader.next()) offsets.push_back(chunk->offset);
  return offsets;
}

// Fault: S5
TEST(ForeignFile, IsRefusedWithOneClearSentence) {
  EXPECT_EQ(error_of("/no/such.jumper"),
            "cannot open recording '/no/such.jumper': No such file or directory");
  EXPECT_EQ(error_of("/tmp"), "cannot open recording '/tmp': Is a directory");
  EXPECT_EQ(error_of("/dev/zero"), "cannot open recording '/dev/zero': it is not a regular file");
  EXPECT_EQ(error_of_bytes(""), "cannot read recording 'x': it is empty");
  EXPECT_EQ(error_of_bytes("import numpy\n"),
            "cannot read recording 'x': it is not a JUmPER recording");
  EXPECT_EQ(error_of_bytes(std::string(1 << 20, '\0')),
            "cannot read recording 'x': it is not a JUmPER recording");
  EXPECT_EQ(error_of_bytes("text about " + std::string(record::kMagic) + "and its format"),
            "cannot read recording 'x': it is not a JUmPER recording");
}

TEST(ForeignFile, IsNotWaitedForWhenItIsANamedPipe) {
  char directory[] = "/tmp/jumper-store-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error_of(path), "cannot open recording '" + path + "': it is not a regular file");
  unlink(path.c_str());
  rmdir(directory);
}

// A chunk as format `version` would write it.
std::string chunk_of_version(char version) {
  std::string chunk;
  record::append_chunk(record::ChunkKind::kMachine, 0, "whatever", chunk);
  chunk[record::kMagic.size()] = version;
  const std::uint32_t crc = record::crc32c(record::crc32c(0, std::string_view(chunk).substr(0, 20)),
                                           std::string_view(chunk).substr(24));
  for (std::size_t i = 0; i < 4; ++i) chunk[20 + i] = static_cast<char>(crc >> (8 * i));
  return chunk;
}

// Fault: S5
TEST(ForeignFile, OfANewerVersionSaysWhatToDo) {
  EXPECT_EQ(error_of_bytes(chunk_of_version(2)),
            "cannot read recording 'x': it was written by a newer JUmPER (format 2; this one reads "
            "up to 1); upgrade jumper-hpc");
}

TEST(ForeignFile, LosesOnlyTheChunksOfANewerVersion) {
  const Recording recording = open_bytes(small_recording() + chunk_of_version(2));
  EXPECT_EQ(recording.cells().size(), 2U);
  ASSERT_EQ(recording.damages().size(), 1U);
  EXPECT_EQ(recording.damages()[0].what, "a newer JUmPER wrote this");
}

// Fault: S5
TEST(DamagedFile, OpensAtEveryCut) {
  const std::string whole = small_recording();
  const std::vector<std::size_t> offsets = chunk_offsets(whole);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const Recording recording = open_bytes(std::string_view(whole).substr(0, size));
    const bool between = std::binary_search(offsets.begin(), offsets.end(), size);
    ASSERT_EQ(recording.damages().empty(), between) << size;
    // Whole chunks before the cut are all there.
    const auto chunks = static_cast<std::size_t>(
        std::upper_bound(offsets.begin(), offsets.end(), size) - offsets.begin());
    ASSERT_EQ(recording.machines().size(), chunks >= 2 ? 1U : 0U) << size;
    ASSERT_EQ(recording.cells().size(), chunks <= 4 ? 0U : chunks <= 8 ? 1U : 2U) << size;
    ask_everything(recording);
  }
}

// Fault: S5
TEST(DamagedFile, LosesAtMostTheTouchedChunkAtEveryBitFlip) {
  const std::string whole = small_recording();
  const Recording good = open_bytes(whole);
  const std::size_t all_rows = count_rows(good);
  const std::vector<std::size_t> offsets = chunk_offsets(whole);
  ASSERT_EQ(all_rows, 8U);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const Recording recording = open_bytes(bytes);
    const auto chunk =
        std::upper_bound(offsets.begin(), offsets.end(), bit / 8) - offsets.begin() - 1;
    ASSERT_FALSE(recording.damages().empty()) << bit;
    ASSERT_EQ(recording.damages()[0].offset, offsets[static_cast<std::size_t>(chunk)]) << bit;
    ASSERT_LE(recording.cells().size(), 2U);
    if (chunk != 3 && chunk != 7) {  // the two begins
      ASSERT_EQ(recording.cells().size(), 2U) << bit;
    }
    if (chunk != 2 && chunk != 4 && chunk != 8) {  // the schema, and what is rows
      ASSERT_EQ(count_rows(recording), all_rows) << bit;
    }
    ask_everything(recording);
  }
}

// Fault: S5
TEST(DamagedFile, LosesAtMostTheTouchedChunksAtEveryZeroedBlock) {
  const std::string whole = small_recording();
  for (std::size_t begin = 0; begin < whole.size(); begin += 7) {
    std::string bytes = whole;
    const std::size_t size = std::min<std::size_t>(64, whole.size() - begin);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), size, '\0');
    const Recording recording = open_bytes(bytes);
    ASSERT_FALSE(recording.damages().empty());
    ask_everything(recording);
  }
}

// Fault: S5
TEST(DamagedFile, NoticesMissingAndSwappedChunks) {
  const std::string whole = small_recording();
  std::vector<std::size_t> offsets = chunk_offsets(whole);
  offsets.push_back(whole.size());
  const auto chunk = [&](std::size_t i) {
    return whole.substr(offsets[i], offsets[i + 1] - offsets[i]);
  };
  const Recording missing = open_bytes(whole.substr(0, offsets[6]) + whole.substr(offsets[7]));
  ASSERT_EQ(missing.damages().size(), 1U);
  EXPECT_EQ(missing.damages()[0].what, "1 chunks before this one are missing");
  const Recording swapped =
      open_bytes(whole.substr(0, offsets[4]) + chunk(5) + chunk(4) + whole.substr(offsets[6]));
  EXPECT_EQ(count_rows(swapped), 8U);
  EXPECT_FALSE(swapped.damages().empty());
  EXPECT_EQ(swapped.damages()[1].what, "this chunk is out of order");
}

TEST(DamagedFile, GivesNoRowsUnderTheNamesOfAnotherSchema) {
  Recorder recorder({"process.threads", "process.processes"});
  recorder.row(1);
  recorder.row(2);
  recorder.schema({"node.threads", "node.processes"});
  recorder.row(3);
  recorder.row(4);
  std::string bytes = recorder.bytes();
  const std::vector<std::size_t> offsets = chunk_offsets(bytes);
  const std::size_t schema = bytes.rfind("node.threads");
  bytes[schema] = 'm';
  const Recording recording = open_bytes(bytes);
  EXPECT_EQ(count_rows(recording), 2U);
  ASSERT_FALSE(recording.damages().empty());
}

TEST(DamagedFile, IsNotTornWhileSomebodyWrites) {
  Recorder recorder;
  recorder.row(1);
  std::string bytes = recorder.bytes();
  const base::File file = file_of(bytes.substr(0, bytes.size() - 3));
  Recording recording = Recording::follow(file.fd());
  ASSERT_TRUE(recording.refresh());
  EXPECT_TRUE(recording.damages().empty());
  ASSERT_TRUE(base::write_at(file.fd(), bytes, 0));
  ASSERT_TRUE(recording.refresh());
  EXPECT_EQ(recording.last_sample_ns(), 1);
  EXPECT_TRUE(recording.damages().empty());
  EXPECT_FALSE(open_bytes(bytes.substr(0, bytes.size() - 3)).damages().empty());
}

TEST(DamagedFile, IsTornBehindItsEnd) {
  Recorder recorder;
  recorder.add(record::End{5});
  const base::File file = file_of(recorder.bytes() + "torn");
  Recording recording = Recording::follow(file.fd());
  ASSERT_TRUE(recording.refresh());
  ASSERT_EQ(recording.damages().size(), 1U);
  EXPECT_EQ(recording.damages()[0].bytes, 4U);
}

TEST(DamagedFile, KeepsWhatIsKnownWhenItBecomesShorter) {
  Recorder recorder;
  recorder.row(1);
  recorder.row(2);
  recorder.seal();
  recorder.add(cell_begin(3, 0));
  Recording recording = recorder.follow();
  ASSERT_EQ(ftruncate(recorder.fd(), 10), 0);
  EXPECT_TRUE(recording.refresh());
  EXPECT_EQ(recording.cells().size(), 1U);
  ask_everything(recording);  // finds no rows, harms nobody
  EXPECT_EQ(recording.source(recording.cells()[0]), "");
}

// Fault: X3
TEST(HostileFile, CannotMakeTheReaderBelieveALength) {
  std::string bytes = small_recording();
  std::string huge(record::kMagic);
  huge += std::string("\x01\x05\0\0", 4) + "\xFF\xFF\xFF\xFF" + std::string(8, 'x');
  std::string long_one(record::kMagic);
  long_one += std::string("\x01\x05\0\0", 4) + std::string("\0\0\0\x04", 4) + std::string(8, 'x');
  const Recording recording = open_bytes(huge + bytes + long_one + bytes.substr(0, 100) + huge);
  EXPECT_EQ(recording.cells().size(), 2U);
  EXPECT_EQ(recording.damages().size(), 2U);  // before and behind: neighbours are one
}

// Fault: X3
TEST(HostileFile, CannotMakeTheReaderCheckTheSameBytesForEver) {
  // 40,000 headers, each of whose payloads would hold all that follow.
  constexpr std::size_t kHeaders = 40'000;
  std::string bytes;
  for (std::size_t i = 0; i < kHeaders; ++i) {
    std::string header(record::kMagic);
    header += std::string("\x01\x05\0\0", 4);
    const std::size_t length = (kHeaders - i - 1) * record::kHeaderBytes - 1;
    for (unsigned shift = 0; shift < 32; shift += 8) header += static_cast<char>(length >> shift);
    bytes += header + std::string(8, 'x');
  }
  const Recording recording = open_bytes(bytes);
  ASSERT_FALSE(recording.damages().empty());
  EXPECT_LE(recording.damages().size(), record::LogReader::kMostDamages);
}

// Fault: X3
TEST(HostileFile, MayBeLongAndEmpty) {
  const base::File file = file_of(small_recording());
  ASSERT_EQ(ftruncate(file.fd(), off_t{1} << 28), 0);
  const Recording recording = Recording::open(path_of(file));
  EXPECT_EQ(recording.cells().size(), 2U);
  ASSERT_EQ(recording.damages().size(), 1U);
}

// Fault: X3
TEST(HostileFile, MayHoldAnyTimesAndValues) {
  constexpr std::int64_t kMost = INT64_MAX;
  constexpr std::int64_t kLeast = INT64_MIN;
  for (const std::int64_t begin : {kLeast, std::int64_t{-1}, std::int64_t{0}, kStart, kMost}) {
    for (const std::int64_t end : {kLeast, std::int64_t{0}, kStart, kMost}) {
      Recorder recorder;
      record::EdgeCounters counters;
      for (const auto field : record::kEdgeCounterFields) counters.*field = begin;
      recorder.add(cell_begin(begin, end, counters, begin));
      recorder.row(1, {{"process.cpu_time_ns", kMost}, {"node.cpu_time_ns", kLeast}});
      recorder.row(kStart, {{"process.cpu_time_ns", 0},
                            {"process.root_cpu_time_ns", kMost},
                            {"process.memory_bytes", kMost},
                            {"node.cpu_time_ns", kMost}});
      recorder.row(kMost, {{"process.cpu_time_ns", kMost}, {"process.root_cpu_time_ns", 0}});
      for (const auto field : record::kEdgeCounterFields) counters.*field = end;
      recorder.add(cell_end(end, begin, counters, begin));
      recorder.add(gap(begin, end));
      recorder.add(gap(end, begin));
      recorder.add(record::Settings{begin, 0.0, {}});
      recorder.add(record::Settings{end, 1e300, {}});
      ask_everything(recorder.open());
    }
  }
}

}  // namespace
}  // namespace store
