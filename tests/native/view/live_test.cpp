#include "view/live.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "store/synthetic.hpp"
#include "view/escape.hpp"

namespace view {
namespace {

using namespace synthetic;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::size_t kColumns = 80;

// Ten seconds of samples: CPU goes from idle to 1.2 cores, memory grows.
void record_samples(Recorder& recorder) {
  for (std::int64_t i = 0; i <= 100; ++i) {
    recorder.row(kStart + i * 100 * kMs,
                 {{"process.cpu_time_ns", std::max<std::int64_t>(i - 50, 0) * 120 * kMs},
                  {"process.memory_bytes", (100 + i) * kMiB},
                  {"process.io_read_bytes", i * kMiB}});
  }
}

std::vector<std::string> lines_of(const Recorder& recorder, std::size_t columns = kColumns) {
  return live_lines(recorder.open(), kStart + 10 * kSecond, columns);
}

TEST(Live, ShowsTheRunningCellAndItsCurves) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart));
  record_samples(recorder);
  EXPECT_THAT(
      lines_of(recorder),
      ElementsAre(
          "made-up · 1 cell", "In [11] · running for 10.0 s", "  x = 1",
          "CPU        ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▃▅▅▅▅▅▅▅▅▅▅▅▅▅▅  60.0 % of 2 cores · max 60.0 %",
          AllOf(StartsWith("memory     ▅▅"), HasSubstr("█  200 MiB · max 200 MiB of 1000 MiB")),
          AllOf(StartsWith("read       ██"), HasSubstr("█  10.0 MiB/s · max 10.0 MiB/s")),
          "written    ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  0 B/s · max 0 B/s"));
}

TEST(Live, ShowsTheLastCellWhenTheKernelIsIdle) {
  Recorder recorder;
  record_samples(recorder);
  EXPECT_EQ(lines_of(recorder)[1], "idle: no cell has run yet");
  recorder.add(cell_begin(kStart, kStart));
  recorder.add(cell_end(kStart + 2500 * kMs, kStart, marks(0), 1, record::Outcome::kError));
  EXPECT_EQ(lines_of(recorder)[1], "idle: the last cell was In [11] · 2.50 s · error");
}

TEST(Live, ShowsTheCellThatAnotherOneRanIn) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart));
  recorder.add(cell_begin(kStart + kSecond, kStart, marks(0), 2));
  recorder.add(cell_end(kStart + 2 * kSecond, kStart, marks(0), 2));
  record_samples(recorder);
  EXPECT_THAT(lines_of(recorder)[1], StartsWith("In [11] · running"));
}

TEST(Live, SaysWhatIsUnknown) {
  Recorder recorder({"process.memory_bytes"});
  recorder.row(kStart, {{"process.memory_bytes", record::unknown(record::State::kNotPermitted)}});
  for (const std::string& line : lines_of(recorder)) EXPECT_THAT(line, Not(HasSubstr("0 B")));
  EXPECT_THAT(lines_of(recorder)[3], AllOf(StartsWith("memory  "), HasSubstr("unknown")));
}

TEST(Live, ShowsTheJobAndGpus) {
  Recorder recorder({"job.memory_bytes", "job.capacity_memory_bytes",
                     "node.gpu0.utilization_percent", "node.gpu0.memory_bytes",
                     "node.gpu1.memory_bytes"});
  recorder.add(record::Device{1, "gpu0", "NVML", "", "", 0, 80 * 1024 * kMiB, ""});
  recorder.add(record::Device{1, "gpu1", "NVML", "", "", 0, -1, ""});
  recorder.add(record::Device{1, "sda", "file system", "", "", 0, -1, ""});
  for (std::int64_t i = 0; i <= 100; ++i) {
    recorder.row(kStart + i * 100 * kMs, {{"job.memory_bytes", 300 * kMiB},
                                          {"job.capacity_memory_bytes", 512 * kMiB},
                                          {"node.gpu0.utilization_percent", 98},
                                          {"node.gpu0.memory_bytes", 1024 * kMiB},
                                          {"node.gpu1.memory_bytes", 5 * kMiB}});
  }
  const std::vector<std::string> lines = lines_of(recorder);
  ASSERT_THAT(lines, SizeIs(9));
  EXPECT_THAT(lines[6], AllOf(StartsWith("job memory "), HasSubstr("300 MiB of 512 MiB")));
  EXPECT_THAT(lines[7], AllOf(StartsWith("gpu0 "), HasSubstr("98.0 % · max 98.0 % · 1.00 GiB of")));
  EXPECT_THAT(lines[8], AllOf(StartsWith("gpu1 "), HasSubstr("█  5.00 MiB")));
}

TEST(Live, FitsAndIsPrintableWhateverTheCodeIs) {
  Recorder recorder;
  record::CellBegin begin = cell_begin(kStart, kStart);
  begin.source = "\n\n\x1b[2J\x07 = 1\r\n\t\xff" + std::string(1 << 16, 'x') + "\n3\n4\n5\n6\n7\n";
  recorder.add(begin);
  record_samples(recorder);
  for (const std::size_t columns : {20U, 80U, 300U}) {
    const std::vector<std::string> lines = lines_of(recorder, columns);
    EXPECT_THAT(lines, SizeIs(2 + 6 + 4));
    EXPECT_EQ(lines[7], "  …");
    for (const std::string& line : lines) {
      EXPECT_LE(width(line), columns);
      EXPECT_TRUE(std::ranges::none_of(line, [](char one) {
        return static_cast<unsigned char>(one) < 0x20 || one == 0x7F;
      })) << line;
      EXPECT_THAT(line, Not(HasSubstr("\xC2\x9B")));
    }
  }
}

}  // namespace
}  // namespace view
