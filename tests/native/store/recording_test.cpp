#include "store/recording.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

std::vector<std::int64_t> times_of(const Recording& recording, std::int64_t begin_ns = 0,
                                   std::int64_t end_ns = INT64_MAX) {
  std::vector<std::int64_t> times;
  recording.visit_rows(begin_ns, end_ns,
                       [&](const auto&, const record::Rows& rows, std::size_t row) {
                         times.push_back(rows.time_ns[row]);
                         return true;
                       });
  return times;
}

TEST(Recording, GivesBackWhatWasWritten) {
  Recorder recorder;
  recorder.add(record::Missing{5, "node.io", record::State::kNotSupported, "by process only"});
  recorder.add(cell_begin(100, 101));
  recorder.row(100);
  recorder.edge(101);
  recorder.row(200);
  recorder.add(cell_end(300, 301, marks(7), 1, record::Outcome::kError));
  recorder.add(record::Gap{400, 500, record::GapReason::kSamplerLost, "kill"});
  recorder.row(600);
  recorder.add(record::End{700, record::EndCause::kExited, 3});
  const Recording recording = recorder.open();

  EXPECT_TRUE(recording.damages().empty());
  ASSERT_TRUE(recording.machine());
  EXPECT_EQ(recording.machine()->host, "made-up");
  ASSERT_EQ(recording.missing().size(), 1U);
  ASSERT_EQ(recording.gaps().size(), 1U);
  EXPECT_EQ(recording.gaps()[0].text, "kill");
  ASSERT_EQ(recording.settings().size(), 1U);
  ASSERT_TRUE(recording.end());
  EXPECT_EQ(recording.end()->detail, 3);
  EXPECT_FALSE(recording.is_live());
  ASSERT_EQ(recording.cells().size(), 1U);
  const Cell& cell = recording.cells()[0];
  EXPECT_EQ(cell.begin.index, 1);
  EXPECT_TRUE(cell.begin.source.empty());
  EXPECT_EQ(recording.source(cell), "x = 1");
  ASSERT_TRUE(cell.end);
  EXPECT_EQ(cell.end->outcome, record::Outcome::kError);
  EXPECT_EQ(times_of(recording), (std::vector<std::int64_t>{100, 101, 200, 600}));
  EXPECT_EQ(times_of(recording, 101, 200), (std::vector<std::int64_t>{101, 200}));
  EXPECT_EQ(recording.first_sample_ns(), 100);
  EXPECT_EQ(recording.last_sample_ns(), 600);
}

TEST(Recording, FollowsRowsThatAreSealedLater) {
  Recorder recorder;
  Recording recording = recorder.follow();
  std::vector<std::int64_t> expected;
  for (std::int64_t time = 1; time <= 100; ++time) {
    recorder.row(time * 100);
    expected.push_back(time * 100);
    if (time % 10 == 0) recorder.seal();
    if (time % 3 != 0) continue;
    ASSERT_TRUE(recording.refresh());
    EXPECT_EQ(times_of(recording), expected);
    EXPECT_EQ(recording.last_sample_ns(), time * 100);
    EXPECT_TRUE(recording.damages().empty());
  }
  EXPECT_EQ(recording.first_sample_ns(), 100);
}

TEST(Recording, KeepsTheNewestRowsWhenTheyAreSealedBehindItsBack) {
  Recorder recorder;
  for (std::int64_t time = 1; time <= 9; ++time) recorder.row(time);
  const Recording recording = recorder.follow();
  recorder.seal();  // the plain rows are gone from the file now
  recorder.row(10);
  EXPECT_EQ(times_of(recording), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Recording, KeepsItsRowsWhileTheyAreHalfSealed) {
  Recorder recorder;
  for (std::int64_t time = 1; time <= 9; ++time) recorder.row(time);
  const std::string plain = recorder.bytes();
  const std::size_t open_offset = recorder.writer().open_offset();
  recorder.seal();
  const std::string sealed = recorder.bytes();
  const base::File file = file_of(plain);
  Recording recording = Recording::follow(file.fd());
  ASSERT_TRUE(recording.refresh());
  const std::vector<std::int64_t> all{1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (std::size_t size = open_offset; size <= sealed.size(); ++size) {
    ASSERT_TRUE(base::write_at(file.fd(), std::string_view(sealed).substr(0, size), 0));
    ASSERT_TRUE(recording.refresh());
    ASSERT_EQ(times_of(recording), all) << size;
    ASSERT_EQ(recording.last_sample_ns(), 9) << size;
    ASSERT_TRUE(recording.damages().empty()) << size;
  }
}

TEST(Recording, SkipsWhatIsLeftOfPlainRowsBehindTheirSealedForm) {
  Recorder recorder;
  recorder.row(1);
  for (std::int64_t time = 2; time <= 9; ++time) recorder.row(time);
  const std::string plain = recorder.bytes();
  recorder.seal();
  std::string bytes = recorder.bytes();
  const std::size_t sealed_size = bytes.size();
  bytes += plain.substr(bytes.size());  // written over, but not cut
  const base::File file = file_of(bytes);
  Recording recording = Recording::follow(file.fd());
  ASSERT_TRUE(recording.refresh());
  EXPECT_EQ(times_of(recording), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(recording.damages().empty());
  ASSERT_EQ(ftruncate(file.fd(), static_cast<off_t>(sealed_size)), 0);
  ASSERT_TRUE(recording.refresh());
  EXPECT_EQ(times_of(recording).size(), 9U);
}

TEST(Recording, TakesACellThatWasSentTwiceOnce) {
  Recorder recorder;
  recorder.add(cell_begin(1000 * kMs, 0, marks(1), 4));
  recorder.add(cell_begin(1000 * kMs, 1900 * kMs, marks(1), 4));
  recorder.add(cell_begin(1000 * kMs, 1001 * kMs, marks(1), 4));
  recorder.add(cell_end(2000 * kMs, 2001 * kMs, marks(2), 4));
  recorder.add(cell_end(2000 * kMs, 3000 * kMs, marks(2), 4));
  const Recording recording = recorder.open();
  ASSERT_EQ(recording.cells().size(), 1U);
  EXPECT_EQ(recording.cells()[0].begin.sample_ns, 1001 * kMs);  // the nearest
  EXPECT_EQ(recording.cells()[0].end->sample_ns, 2001 * kMs);
  EXPECT_EQ(recording.source(recording.cells()[0]), "x = 4");
}

TEST(Recording, SaysThatAnEndHasNoBegin) {
  Recorder recorder;
  recorder.add(cell_end(2000, 2001, marks(2), 7));
  const Recording recording = recorder.open();
  EXPECT_TRUE(recording.cells().empty());
  ASSERT_EQ(recording.damages().size(), 1U);
  EXPECT_EQ(recording.damages()[0].what, "cell 7 ends but its begin is missing");
}

TEST(Recording, FindsCellsByIndexAndByExecutionCount) {
  Recorder recorder;
  for (const std::int64_t index : {3, 1, 2}) {
    recorder.add(cell_begin(1000 + index, 0, marks(0), index));
    record::CellEnd end = cell_end(1000 + index, 0, marks(0), index);
    end.execution_count = index == 2 ? record::kNoExecutionCount : 5;
    recorder.add(end);
  }
  const Recording recording = recorder.open();
  ASSERT_EQ(recording.cells().size(), 3U);
  EXPECT_EQ(recording.cells()[0].begin.index, 1);
  EXPECT_EQ(recording.cells()[2].begin.index, 3);
  EXPECT_EQ(recording.cell(2)->begin.index, 2);
  EXPECT_EQ(recording.cell(4), nullptr);
  EXPECT_EQ(recording.latest_with_execution_count(5)->begin.index, 3);
  EXPECT_EQ(recording.latest_with_execution_count(12)->begin.index, 2);  // the begin's
  EXPECT_EQ(recording.latest_with_execution_count(99), nullptr);
}

TEST(Recording, GoesOnInASpill) {
  Recorder recorder;
  recorder.row(1);
  recorder.row(2);
  recorder.seal();
  recorder.row(3);
  Recording recording = recorder.follow();
  const base::File memfd = base::make_memfd("spill");
  const std::size_t offset = recorder.writer().open_offset();
  ASSERT_TRUE(recorder.writer().move_to(memfd.fd(), 0));
  recorder.row(4);
  recorder.row(5);
  recorder.seal();
  recording.set_spill(memfd.fd(), offset);
  ASSERT_TRUE(recording.refresh());
  EXPECT_EQ(times_of(recording), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(recording.size_bytes(), offset + *base::file_size(memfd.fd()));

  // Space is back: the spill is copied behind the file's whole part.
  std::string spilled(*base::file_size(memfd.fd()), '\0');
  ASSERT_TRUE(base::read_at(memfd.fd(), spilled, 0));
  ASSERT_TRUE(base::write_at(recorder.fd(), spilled, static_cast<off_t>(offset)));
  ASSERT_EQ(ftruncate(recorder.fd(), static_cast<off_t>(offset + spilled.size())), 0);
  recording.set_spill(-1, 0);
  ASSERT_TRUE(recording.refresh());
  EXPECT_EQ(times_of(recording), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

TEST(Recording, IsEmptyWithoutADescriptor) {
  Recording recording = Recording::follow(-1);
  EXPECT_TRUE(recording.refresh());
  EXPECT_TRUE(recording.cells().empty());
  EXPECT_EQ(recording.last_sample_ns(), 0);
  EXPECT_TRUE(recording.is_live());
}

TEST(Recording, GivesWindowsWithTheirSchema) {
  Recorder recorder(process_columns());
  recorder.row(1, {{"process.threads", 3}});
  recorder.row(2, {{"process.threads", 4}});
  recorder.seal();
  recorder.row(3, {{"process.threads", 5}});
  recorder.schema(both_levels());
  recorder.row(4, {{"process.threads", 6}, {"node.threads", 900}});
  const std::vector<Window> windows = recorder.open().rows_between(2, 4);
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[0].rows.time_ns, (std::vector<std::int64_t>{2, 3}));
  EXPECT_FALSE(windows[0].column("node.threads"));
  const auto threads = windows[0].column("process.threads");
  ASSERT_TRUE(threads);
  EXPECT_EQ(windows[0].rows.at(*threads, 0), 4);
  EXPECT_EQ(windows[0].rows.at(*threads, 1), 5);
  ASSERT_TRUE(windows[1].column("node.threads"));
  EXPECT_EQ(windows[1].rows.at(*windows[1].column("node.threads"), 0), 900);
}

TEST(Recording, FindsTheSamplesAroundATime) {
  Recorder recorder;
  for (const std::int64_t time : {10, 20, 30}) recorder.row(time);
  recorder.seal();
  recorder.row(40);
  const Recording recording = recorder.open();
  EXPECT_EQ(recording.sample_at_or_before(9), 0);
  EXPECT_EQ(recording.sample_at_or_before(29), 20);
  EXPECT_EQ(recording.sample_at_or_before(35), 30);
  EXPECT_EQ(recording.sample_at_or_before(1000), 40);
  EXPECT_EQ(recording.sample_at_or_after(0), 10);
  EXPECT_EQ(recording.sample_at_or_after(30), 30);
  EXPECT_EQ(recording.sample_at_or_after(31), 40);
  EXPECT_EQ(recording.sample_at_or_after(41), 0);
}

// The clock is set back by an hour, then forward by two: what comes later is labelled later.
TEST(Recording, KeepsItsTimesInOrderWhateverTheWallClockDoes) {
  Recorder recorder;
  record::Machine machine;
  machine.time_ns = 1000;
  machine.wall_offset_ns = kWall - 3600 * kSecond;
  recorder.add(machine);
  machine.time_ns = 2000;
  machine.wall_offset_ns = kWall + 3600 * kSecond;
  recorder.add(machine);
  const Recording recording = recorder.open();
  EXPECT_EQ(recording.wall_ns(999), kWall + 999);
  EXPECT_EQ(recording.wall_ns(1000), kWall + 1000);
  EXPECT_EQ(recording.wall_ns(1999), kWall + 1999);
  EXPECT_EQ(recording.wall_ns(2000), kWall + 2000 + 3600 * kSecond);
  EXPECT_EQ(recording.machines().size(), 3U);
}

TEST(Recording, TakesOnlyWhatIsNewerAsARow) {
  Recorder recorder;
  for (const std::int64_t time : {10, 30, 20, 30, 40, -5, 0}) recorder.row(time);
  EXPECT_EQ(times_of(recorder.open()), (std::vector<std::int64_t>{10, 30, 40}));
}

TEST(Recording, GoesOnInTheFileThatTookItsPlace) {
  std::string folder = ::testing::TempDir() + "jumper-replaced-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto put = [&](const std::string& name, std::string_view bytes) {
    const std::string path = folder + "/" + name;
    const base::File file = base::File::open(path, O_RDWR | O_CREAT, 0600);
    EXPECT_TRUE(base::write_at(file.fd(), bytes, 0));
    return path;
  };
  Recorder recorder;
  recorder.row(kStart);
  const std::string path = put("a.jumper", recorder.bytes());
  store::Recording recording = store::Recording::open(path);
  EXPECT_EQ(recording.last_sample_ns(), kStart);
  Recorder thinned;
  thinned.row(kStart + kSecond);
  ASSERT_EQ(::rename(put("b", thinned.bytes()).c_str(), path.c_str()), 0);
  EXPECT_TRUE(recording.refresh());
  EXPECT_EQ(recording.first_sample_ns(), kStart + kSecond);
  ASSERT_EQ(::rename(put("c", "something else").c_str(), path.c_str()), 0);
  EXPECT_TRUE(recording.refresh());
  EXPECT_EQ(recording.first_sample_ns(), kStart + kSecond) << "that is no recording";
  std::filesystem::remove_all(folder);
}

TEST(Recording, TouchesNoFileWhileItIsPaused) {
  Recorder recorder;
  recorder.row(kStart);
  store::Recording recording = recorder.follow();
  recording.pause(true);
  recorder.row(kStart + kSecond);
  recorder.seal();
  EXPECT_FALSE(recording.refresh());
  EXPECT_EQ(recording.last_sample_ns(), kStart);
  recording.pause(false);
  EXPECT_TRUE(recording.refresh());
  EXPECT_EQ(recording.last_sample_ns(), kStart + kSecond);
}

// The offset of the n-th chunk of that kind, from 0.
std::size_t offset_of(const std::string& bytes, record::ChunkKind kind, int n) {
  record::LogReader reader(bytes);
  while (const auto chunk = reader.next()) {
    if (chunk->kind == kind && n-- == 0) return chunk->offset;
  }
  ADD_FAILURE() << "there is no such chunk";
  return 0;
}

std::size_t rows_of(const std::string& bytes) {
  const base::File file = file_of(bytes);
  const Recording recording = Recording::open(path_of(file));
  EXPECT_FALSE(recording.damages().empty());
  std::size_t count = 0;
  recording.visit_rows(0, INT64_MAX, [&](const auto&, const record::Rows&, std::size_t) {
    ++count;
    return true;
  });
  return count;
}

// Fault: S5
TEST(Recording, LosesTheRowsAloneWhoseKindBecameThatOfASchema) {
  constexpr std::size_t kKindOffset = 9;
  Recorder recorder({"process.cpu_time_ns"});
  for (int row = 0; row < 20; ++row) {
    recorder.row(kStart + row * kMs);
    if (row % 10 == 9) recorder.seal();
  }
  std::string bytes = recorder.bytes();
  const std::size_t rows = offset_of(bytes, record::ChunkKind::kSealedRows, 0);
  bytes[rows + kKindOffset] = static_cast<char>(record::ChunkKind::kSchema);
  EXPECT_EQ(rows_of(bytes), 10U);
}

// Fault: S5
TEST(Recording, LosesTheRowsAloneWhoseLengthLeadsToALaterChunk) {
  constexpr std::size_t kLengthOffset = 12;
  Recorder recorder({"process.cpu_time_ns"});
  for (int row = 0; row < 50; ++row) {
    recorder.row(kStart + row * kMs);
    if (row % 10 == 9) recorder.seal();
  }
  const std::string whole = recorder.bytes();
  const std::size_t first = offset_of(whole, record::ChunkKind::kSealedRows, 0);
  for (const std::size_t end :
       {offset_of(whole, record::ChunkKind::kSealedRows, 2),
        offset_of(whole, record::ChunkKind::kSealedRows, 4), whole.size()}) {
    std::string bytes = whole;
    const auto length = static_cast<std::uint32_t>(end - first - record::kHeaderBytes);
    for (unsigned i = 0; i < 4; ++i) {
      bytes[first + kLengthOffset + i] = static_cast<char>(length >> (8 * i));
    }
    EXPECT_EQ(rows_of(bytes), 40U) << end;
  }
}

// Fault: S5
TEST(Recording, ReadsNoRowsUnderTheNamesBeforeASchemaWhoseKindIsDamaged) {
  constexpr std::size_t kKindOffset = 9;
  Recorder recorder({"process.cpu_time_ns"});
  recorder.row(kStart);
  recorder.schema({"node.cpu_time_ns"});
  recorder.row(kStart + kMs);
  std::string bytes = recorder.bytes();
  const std::size_t schema = offset_of(bytes, record::ChunkKind::kSchema, 1);
  bytes[schema + kKindOffset] = static_cast<char>(record::ChunkKind::kSettings);
  EXPECT_EQ(rows_of(bytes), 1U);
}

}  // namespace
}  // namespace store
