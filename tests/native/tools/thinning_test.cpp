#include "tools/thinning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "store/synthetic.hpp"
#include "view/summary.hpp"

namespace tools {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;
using namespace synthetic;

const Errand::Stop kNever = false;

// Cells of ten minutes at 10 Hz with a minute between them; memory has a peak in each.
class ThinningTest : public ::testing::Test {
 protected:
  static constexpr int kCells = 4;

  void SetUp() override {
    std::int64_t now = kStart;
    for (int cell = 1; cell <= kCells; ++cell) {
      record::CellBegin begin;
      begin.index = cell;
      begin.time_ns = now;
      begin.sample_ns = now + kMs;
      begin.source = "cell " + std::to_string(cell);
      values(now + kMs, 0);
      recorder_.edge(now + kMs, values_);
      recorder_.add(begin);
      rows(now + 100 * kMs, 6000, cell);
      now += 600 * kSecond;
      record::CellEnd end;
      end.index = cell;
      end.time_ns = now + 150 * kMs;
      end.sample_ns = now + 151 * kMs;
      values(end.sample_ns, 0);
      recorder_.edge(end.sample_ns, values_);
      recorder_.add(end);
      rows(now + 200 * kMs, 600, 0);
      now += 61 * kSecond;
    }
    recorder_.seal();
  }

  void values(std::int64_t time_ns, std::int64_t mib) {
    const std::int64_t step = (time_ns - kStart) / kMs;
    values_["process.cpu_time_ns"] = step * kMs / 2;
    values_["process.io_read_bytes"] = step * 977;
    values_["process.io_write_ops"] = step / 7;
    values_["process.memory_bytes"] = (100 + mib) * kMiB;
    values_["node.cpu_time_ns"] = step * kMs;
    values_["node.memory_bytes"] = (500 + mib % 17) * kMiB;
  }

  void rows(std::int64_t from, int count, int cell) {
    for (int row = 0; row < count; ++row) {
      const std::int64_t time_ns = from + row * 100 * kMs;
      values(time_ns, row == 3333 ? 50 + cell : row % 13);
      recorder_.row(time_ns, values_);
      if (row % 10 == 9) recorder_.seal();
    }
    recorder_.seal();
  }

  [[nodiscard]] std::size_t end() const { return recorder_.writer().open_offset(); }

  base::File thinned(std::size_t wished) const {
    base::File copy = base::make_memfd("copy");
    at_ = thin(recorder_.fd(), end(), copy.fd(), wished, kNever);
    EXPECT_TRUE(at_);
    return copy;
  }
  static store::Recording open(const base::File& file) {
    return store::Recording::open(path_of(file));
  }
  static std::size_t rows_of(const store::Recording& recording) {
    std::size_t count = 0;
    recording.visit_rows(0, INT64_MAX, [&](const auto&, const auto&, std::size_t) {
      ++count;
      return true;
    });
    return count;
  }

  static void expect_same_cells(const store::Recording& before, const store::Recording& after) {
    ASSERT_EQ(before.cells().size(), after.cells().size());
    for (std::size_t i = 0; i < before.cells().size(); ++i) {
      const store::Cell& cell = before.cells()[i];
      const store::Cell& same = after.cells()[i];
      EXPECT_EQ(before.source(cell), after.source(same));
      const store::CellSummary one = store::summarize(before, cell);
      const store::CellSummary other = store::summarize(after, same);
      EXPECT_EQ(one.duration_s, other.duration_s);
      EXPECT_TRUE(other.gaps.empty());
      ASSERT_EQ(one.levels.size(), other.levels.size());
      for (std::size_t level = 0; level < one.levels.size(); ++level) {
        expect_same(one.levels[level], other.levels[level]);
      }
    }
  }
  static void expect_same(const store::LevelSummary& one, const store::LevelSummary& other) {
    EXPECT_EQ(one.cpu_time_s, other.cpu_time_s);
    EXPECT_EQ(one.cpu_percent.mean, other.cpu_percent.mean);
    EXPECT_EQ(one.io_read_bytes, other.io_read_bytes);
    EXPECT_EQ(one.io_write_ops, other.io_write_ops);
    EXPECT_EQ(one.memory_bytes.begin, other.memory_bytes.begin);
    EXPECT_EQ(one.memory_bytes.end, other.memory_bytes.end);
    EXPECT_EQ(one.memory_bytes.max, other.memory_bytes.max);
    EXPECT_EQ(one.memory_bytes.peak, other.memory_bytes.peak);
  }

  mutable Recorder recorder_;
  mutable std::optional<Thinned> at_;
  Values values_;
};

TEST_F(ThinningTest, KeepsEveryTotalAndPeakOfEveryCell) {
  for (const std::size_t parts : {2, 5, 20}) {
    const base::File copy = thinned(end() / parts);
    const store::Recording before = recorder_.open();
    const store::Recording after = open(copy);
    EXPECT_THAT(after.damages(), SizeIs(0));
    expect_same_cells(before, after);
    EXPECT_LT(rows_of(after), rows_of(before) / parts * 2);
  }
}

TEST_F(ThinningTest, ComesOutAboutAsLargeAsWished) {
  const std::size_t wished = end() / 4;
  const base::File copy = thinned(wished);
  EXPECT_THAT(*base::file_size(copy.fd()), AllOf(Ge(wished / 3), Le(wished * 5 / 4)));
  EXPECT_EQ(at_->offset, *base::file_size(copy.fd()));
}

TEST_F(ThinningTest, LeavesTheNewestPartAsItIs) {
  const base::File copy = thinned(end() / 2);
  const store::Recording before = recorder_.open();
  const store::Recording after = open(copy);
  const std::int64_t last_ns = before.last_sample_ns();
  EXPECT_EQ(after.last_sample_ns(), last_ns);
  const std::int64_t from_ns = last_ns - 60 * kSecond;
  EXPECT_EQ(before.rows_between(from_ns, last_ns).front().rows.time_ns,
            after.rows_between(from_ns, last_ns).front().rows.time_ns);
  EXPECT_EQ(after.settings().back().rate_hz, 10.0);
  EXPECT_EQ(after.settings().back().reason, "");
}

TEST_F(ThinningTest, SaysHowThinTheOlderPartIs) {
  const base::File copy = thinned(end() / 3);
  const store::Recording after = open(copy);
  const store::CellSummary first = store::summarize(after, after.cells().front());
  EXPECT_EQ(first.rate_note, "older samples are thinned to one in 4");
  EXPECT_EQ(after.settings().front().rate_hz, 2.5);
}

TEST_F(ThinningTest, ThinsAgainWhatWasThinned) {
  const base::File once = thinned(end() / 3);
  base::File twice = base::make_memfd("twice");
  ASSERT_TRUE(thin(once.fd(), at_->offset, twice.fd(), at_->offset / 2, kNever));
  const store::Recording after = open(twice);
  EXPECT_THAT(after.damages(), SizeIs(0));
  expect_same_cells(recorder_.open(), after);
  EXPECT_THAT(after.settings().front().reason, HasSubstr("thinned to one in 16"));
  EXPECT_EQ(after.settings().back().reason, "");
}

TEST_F(ThinningTest, GoesOnWithWhatCameMeanwhile) {
  const base::File copy = thinned(end() / 4);
  const std::int64_t then_ns = store::Recording(recorder_.open()).last_sample_ns();
  rows(then_ns + 100 * kMs, 50, 0);
  recorder_.add(record::Gap{then_ns, then_ns, record::GapReason::kClockJump, {}});
  ASSERT_TRUE(copy_chunks(recorder_.fd(), end(), copy.fd(), *at_, kNever));
  const store::Recording after = open(copy);
  EXPECT_THAT(after.damages(), SizeIs(0));
  EXPECT_THAT(after.gaps(), SizeIs(1));
  EXPECT_EQ(after.last_sample_ns(), then_ns + 50 * 100 * kMs);
}

TEST_F(ThinningTest, KeepsBothRowsWhereACounterFalls) {
  const std::int64_t from = recorder_.open().last_sample_ns() + 100 * kMs;
  rows(from, 101, 0);
  values(kStart, 0);  // it begins anew
  recorder_.row(from + 10'100 * kMs, values_);
  values(kStart + kSecond, 0);
  for (int row = 102; row < 400; ++row) recorder_.row(from + row * 100 * kMs, values_);
  recorder_.seal();
  const std::int64_t later = from + 400 * 100 * kMs;
  rows(later, 6000, 0);
  const base::File copy = thinned(end() / 8);
  const auto windows = open(copy).rows_between(from + 10'000 * kMs, from + 10'100 * kMs);
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_EQ(windows.front().rows.count, 2U);
}

TEST_F(ThinningTest, StopsWhenItIsTold) {
  const Errand::Stop now = true;
  const base::File copy = base::make_memfd("copy");
  EXPECT_FALSE(thin(recorder_.fd(), end(), copy.fd(), end() / 2, now));
  EXPECT_EQ(errno, ECANCELED);
}

TEST_F(ThinningTest, SaysThatWhatWasDamagedIsMissing) {
  ASSERT_TRUE(base::write_at(recorder_.fd(), "damage", static_cast<off_t>(end() / 2)));
  const base::File copy = thinned(end() / 2);
  EXPECT_THAT(open(copy).damages(), SizeIs(1));
}

}  // namespace
}  // namespace tools
