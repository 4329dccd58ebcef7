// The power fails: of the writes of a recording, in their order, a part has come to the disk.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "store/recording.hpp"
#include "store/synthetic.hpp"

namespace {

struct Write {
  bool cut = false;  // ftruncate, else pwrite
  std::size_t offset = 0;
  std::string bytes;
};
std::vector<Write>* captured = nullptr;  // where the calls below are written down; none: nowhere

}  // namespace

// The system's calls as the writer makes them: these definitions win over the C library's.
extern "C" {
ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  const auto written = ::syscall(SYS_pwrite64, fd, bytes, count, offset);
  if (captured != nullptr && written > 0) {
    captured->push_back({false,
                         static_cast<std::size_t>(offset),
                         {static_cast<const char*>(bytes), static_cast<std::size_t>(written)}});
  }
  return written;
}
int ftruncate(int fd, off_t size) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_ftruncate, fd, size));
  if (captured != nullptr && result == 0) {
    captured->push_back({true, static_cast<std::size_t>(size), {}});
  }
  return result;
}
}

namespace store {
namespace {

using namespace synthetic;

void apply(const Write& write, std::size_t most_bytes, std::string& bytes) {
  if (write.cut) return bytes.resize(write.offset);
  const std::string_view part = std::string_view(write.bytes).substr(0, most_bytes);
  if (part.empty()) return;
  bytes.resize(std::max(bytes.size(), write.offset + part.size()));  // a hole is zeros
  bytes.replace(write.offset, part.size(), part);
}

// What was whole on the disk, and not to be written over any more, after so many writes.
struct Promise {
  std::size_t writes = 0;
  std::size_t begins = 0;
  std::size_t ends = 0;
  std::size_t rows = 0;
};

class PowerCut : public ::testing::Test {
 protected:
  void SetUp() override {
    captured = &writes_;
    record();
    captured = nullptr;
    ASSERT_GT(writes_.size(), 60U);
    ASSERT_TRUE(std::ranges::any_of(writes_, &Write::cut));
    const bool rewritten =
        std::ranges::any_of(writes_, [end = std::size_t{0}](const Write& one) mutable {
          const bool over = !one.cut && one.offset < end;
          end = one.offset + one.bytes.size();
          return over;
        });
    ASSERT_TRUE(rewritten);  // sealed rows over plain ones
    ASSERT_TRUE(made_of(writes_.size()) == whole_);
  }
  void TearDown() override { captured = nullptr; }

  [[nodiscard]] std::string made_of(std::size_t count) const {
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) apply(writes_[i], std::string::npos, bytes);
    return bytes;
  }

  // It opens, and all that was promised after `writes` is there; no row is made up or doubled.
  void check(std::string_view bytes, std::size_t writes) const {
    const auto later = std::ranges::upper_bound(promises_, writes, std::less<>{}, &Promise::writes);
    const Promise promise = later == promises_.begin() ? Promise{} : *std::prev(later);
    if (bytes.size() < record::kMagic.size() ||
        !record::looks_like_recording(bytes)) {  // not even the first write has begun
      ASSERT_EQ(promise.writes, 0U);
      return;
    }
    const base::File file = file_of(bytes);
    const Recording recording = Recording::open(path_of(file));
    std::size_t begins = 0;
    std::size_t ends = 0;
    for (const Cell& cell : recording.cells()) {
      begins += cell.begin.time_ns != 0 ? 1 : 0;
      ends += cell.end ? 1 : 0;
    }
    ASSERT_GE(begins, promise.begins);
    ASSERT_GE(ends, promise.ends);
    std::vector<std::int64_t> times;
    recording.visit_rows(0, INT64_MAX, [&](const auto&, const record::Rows& rows, std::size_t row) {
      times.push_back(rows.time_ns[row]);
      EXPECT_EQ(rows.at(0, row), times.back() / 2);
      return true;
    });
    ASSERT_TRUE(std::ranges::adjacent_find(times, std::greater_equal<>{}) == times.end());
    ASSERT_TRUE(std::ranges::includes(row_times_, times));
    for (std::size_t row = 0; row < promise.rows; ++row) {
      ASSERT_TRUE(std::ranges::binary_search(times, row_times_[row])) << row;
    }
  }

  std::vector<Write> writes_;

 private:
  // Three seconds of ten rows each, cells of one row, of some and of many, an end.
  void record() {
    Recorder recorder({"process.cpu_time_ns", "process.memory_bytes"});
    promise(recorder);
    const auto row = [&](std::int64_t time_ns, bool edge = false) {
      recorder.row(time_ns,
                   {{"process.cpu_time_ns", time_ns / 2}, {"process.memory_bytes", time_ns % 977}},
                   edge ? record::kEdgeSample : 0);
      row_times_.push_back(time_ns);
      promise(recorder);
    };
    std::int64_t time_ns = kStart;
    for (std::int64_t second = 0; second < 3; ++second) {
      for (const int rows : {0, 1, 10}) {
        row(time_ns += kMs, true);
        recorder.add(cell_begin(time_ns, time_ns, marks(0), ++last_.begins));
        promise(recorder);
        for (int i = 0; i < rows; ++i) row(time_ns += 100 * kMs);
        if (rows == 10) recorder.seal();
        promise(recorder);
        row(time_ns += kMs, true);
        recorder.add(cell_end(time_ns, time_ns, marks(kMs), ++last_.ends));
        promise(recorder);
      }
    }
    recorder.add(record::End{time_ns + 1, record::EndCause::kKilled, 9});
    promise(recorder);
    whole_ = recorder.bytes();
  }
  void promise(Recorder& recorder) {
    if (recorder.writer().open_rows() == 0) last_.rows = row_times_.size();
    last_.writes = writes_.size();
    promises_.push_back({last_.writes, static_cast<std::size_t>(last_.begins),
                         static_cast<std::size_t>(last_.ends), last_.rows});
  }

  struct {
    std::size_t writes = 0;
    std::int64_t begins = 0;
    std::int64_t ends = 0;
    std::size_t rows = 0;
  } last_;
  std::vector<std::int64_t> row_times_;
  std::vector<Promise> promises_;
  std::string whole_;
};

// Fault: S6
TEST_F(PowerCut, LeavesWhatWasSealedAtEveryByteOfEveryWrite) {
  std::string before;
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    for (std::size_t size = 0; size <= writes_[i].bytes.size(); ++size) {
      std::string bytes = before;
      apply(writes_[i], size, bytes);
      const bool whole = size == writes_[i].bytes.size();
      ASSERT_NO_FATAL_FAILURE(check(bytes, whole ? i + 1 : i))
          << "write " << i << ", byte " << size;
    }
    apply(writes_[i], std::string::npos, before);
  }
}

// Fault: S6
TEST_F(PowerCut, LeavesWhatWasSealedWhenTheLastTwoWritesChangePlaces) {
  std::string before;
  for (std::size_t i = 0; i + 1 < writes_.size(); ++i) {
    const std::size_t size = writes_[i].bytes.size();
    std::set<std::size_t> parts{0, 1, size / 2, size > 0 ? size - 1 : 0};  // of the earlier one
    for (std::size_t part = 0; part < size; part += 7) parts.insert(part);
    for (const std::size_t part : parts) {
      std::string bytes = before;
      if (!writes_[i].cut) apply(writes_[i], part, bytes);
      apply(writes_[i + 1], std::string::npos, bytes);
      ASSERT_NO_FATAL_FAILURE(check(bytes, i)) << "write " << i << ", byte " << part;
    }
    apply(writes_[i], std::string::npos, before);
  }
}

}  // namespace
}  // namespace store
