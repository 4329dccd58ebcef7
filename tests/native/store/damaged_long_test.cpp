// Every cut and every flipped bit of a recording of 64 kB.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

constexpr std::size_t kBytes = 64 << 10;
constexpr std::int64_t kMostNs = 2 * kSecond;  // CPU time of one look at it

// A chunk of the undamaged file, and what it brings.
struct Piece {
  std::size_t offset = 0;
  std::size_t end = 0;
  record::ChunkKind kind = record::ChunkKind::kMachine;
  std::size_t rows_before = 0;
  std::size_t cells_before = 0;
};

struct Seen {
  std::size_t rows = 0;
  std::size_t cells = 0;
  std::vector<record::Damage> damages;
};

Seen look(const std::string& path) {
  const std::int64_t begin_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const Recording recording = Recording::open(path);
  Seen seen{0, recording.cells().size(), recording.damages()};
  std::int64_t time_ns = 0;
  recording.visit_rows(0, INT64_MAX, [&](const auto&, const record::Rows& rows, std::size_t row) {
    EXPECT_GT(rows.time_ns[row], time_ns);
    time_ns = rows.time_ns[row];
    EXPECT_EQ(rows.at(0, row), time_ns / 2);  // as it was written
    ++seen.rows;
    return true;
  });
  EXPECT_LT(base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns, kMostNs);
  return seen;
}

class EveryDamage : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    record();
    Piece piece;
    record::LogReader reader(whole_);
    while (const auto chunk = reader.next()) {
      piece.offset = chunk->offset;
      piece.end = chunk->end;
      piece.kind = chunk->kind;
      pieces_.push_back(piece);
      if (chunk->kind == record::ChunkKind::kCellBegin) ++piece.cells_before;
      if (chunk->kind == record::ChunkKind::kPlainRow) ++piece.rows_before;
      if (chunk->kind == record::ChunkKind::kSealedRows) {
        piece.rows_before += record::decode_sealed_rows(chunk->payload)->count;
      }
    }
    all_ = {piece.rows_before, piece.cells_before, {}};
    const Seen good = look(path_of(file_ = file_of(whole_)));
    ASSERT_EQ(good.rows, all_.rows);
    ASSERT_EQ(good.cells, all_.cells);
    ASSERT_TRUE(good.damages.empty());
    ASSERT_GE(whole_.size(), kBytes);
    ASSERT_GT(pieces_.size(), 100U);
  }
  [[nodiscard]] std::size_t rows_of(std::size_t piece) const {
    const bool last = piece + 1 == pieces_.size();
    return (last ? all_.rows : pieces_[piece + 1].rows_before) - pieces_[piece].rows_before;
  }
  [[nodiscard]] std::size_t piece_at(std::size_t offset) const {
    const auto after = std::ranges::upper_bound(pieces_, offset, {}, &Piece::offset);
    return static_cast<std::size_t>(after - pieces_.begin()) - 1;
  }

  std::string whole_;
  std::vector<Piece> pieces_;
  Seen all_;
  base::File file_;

 private:
  void record() {
    Recorder recorder({"process.cpu_time_ns", "process.memory_bytes", "node.cpu_time_ns"});
    std::int64_t time_ns = kStart;
    std::int64_t index = 0;
    while (base::file_size(recorder.fd()).value_or(kBytes) < kBytes) {
      recorder.add(cell_begin(time_ns, time_ns, marks(0), ++index));
      for (int row = 0; row < 40; ++row) {
        time_ns += 100 * kMs + row * 997 % 1013;
        recorder.row(time_ns, {{"process.cpu_time_ns", time_ns / 2},
                               {"process.memory_bytes", time_ns % 7919 * kMs},
                               {"node.cpu_time_ns", time_ns / 3}});
        if (row % 10 == 9) recorder.seal();
      }
      recorder.add(cell_end(time_ns, time_ns, marks(kMs), index));
    }
    for (int row = 0; row < 2; ++row) {
      time_ns += 2;
      recorder.row(time_ns, {{"process.cpu_time_ns", time_ns / 2}});
    }
    whole_ = recorder.bytes();
  }
};

// Fault: S5
TEST_P(EveryDamage, ACutLosesNothingBeforeIt) {
  for (std::size_t size = whole_.size() - 1 - GetParam(); size > record::kMagic.size() && size > 8;
       size -= std::min<std::size_t>(size, 8)) {
    ASSERT_EQ(::ftruncate(file_.fd(), static_cast<off_t>(size)), 0);
    const Piece& piece = pieces_[piece_at(size)];
    const Seen seen = look(path_of(file_));
    ASSERT_EQ(seen.rows, piece.rows_before) << size;
    ASSERT_EQ(seen.cells, piece.cells_before) << size;
    ASSERT_EQ(seen.damages.empty(), piece.offset == size) << size;
  }
}

// Fault: S5
TEST_P(EveryDamage, AFlippedBitLosesItsChunkAlone) {
  for (std::size_t byte = 0; byte < whole_.size(); ++byte) {
    const auto flipped = static_cast<char>(whole_[byte] ^ (1 << GetParam()));
    ASSERT_TRUE(base::write_at(file_.fd(), {&flipped, 1}, static_cast<off_t>(byte)));
    const std::size_t hit = piece_at(byte);
    const Piece& piece = pieces_[hit];
    const Seen seen = look(path_of(file_));
    const bool schema = piece.kind == record::ChunkKind::kSchema;  // without it rows have no names
    ASSERT_EQ(seen.rows, schema ? 0 : all_.rows - rows_of(hit))
        << byte << " of the chunk at " << piece.offset << " to " << piece.end << ", kind "
        << static_cast<int>(piece.kind);
    ASSERT_GE(seen.cells, all_.cells - (piece.kind == record::ChunkKind::kCellBegin ? 1 : 0))
        << byte;
    ASSERT_FALSE(seen.damages.empty()) << byte;
    ASSERT_EQ(seen.damages[0].offset, piece.offset) << byte;
    ASSERT_TRUE(base::write_at(file_.fd(), std::string_view(whole_).substr(byte, 1),
                               static_cast<off_t>(byte)));
  }
}

INSTANTIATE_TEST_SUITE_P(Bits, EveryDamage, ::testing::Range(0U, 8U));

}  // namespace
}  // namespace store
