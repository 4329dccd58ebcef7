#include "tools/disk.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <charconv>

#include "base/file.hpp"
#include "base/memory.hpp"
#include "store/synthetic.hpp"

namespace tools {
namespace {

using namespace synthetic;

std::int64_t peak_kib() {
  const std::string status = base::read_small_file("/proc/self/status", 8192).value_or("");
  const std::size_t at = status.find_first_of("123456789", status.find("VmHWM:"));
  std::int64_t kib = 0;
  std::from_chars(status.data() + at, status.data() + status.size(), kib);
  return kib;
}

TEST(ResumePoint, IsBehindTheLastWholeChunkAndKnowsTheLastRow) {
  Recorder recorder;
  recorder.row(kStart, {{"process.cpu_time_ns", 5}});
  recorder.row(kStart + kSecond, {{"process.cpu_time_ns", 7}});
  recorder.seal();
  recorder.add(record::Gap{kStart, kStart + 1, record::GapReason::kDropped, {}});
  const std::size_t end = recorder.writer().offset();
  ASSERT_TRUE(base::write_at(recorder.fd(), record::kMagic, static_cast<off_t>(end)));

  const ResumePoint point = resume_point(recorder.fd());
  EXPECT_EQ(point.offset, end);
  EXPECT_EQ(point.sequence, recorder.writer().sequence());
  ASSERT_TRUE(point.last_row);
  EXPECT_EQ(point.last_row->time_ns, kStart + kSecond);
  ASSERT_EQ(point.last_row->values.size(), point.schema.columns.size());
  for (std::size_t column = 0; column < point.schema.columns.size(); ++column) {
    if (point.schema.columns[column].name != "process.cpu_time_ns") continue;
    EXPECT_EQ(point.last_row->values[column], 7);
  }
}

TEST(ResumePoint, OfNothingIsTheBegin) {
  const base::File empty = base::make_memfd("empty");
  const ResumePoint point = resume_point(empty.fd());
  EXPECT_EQ(point.offset, 0U);
  EXPECT_EQ(point.sequence, 0U);
  EXPECT_FALSE(point.last_row);
}

TEST(ResumePoint, OfALongRecordingTakesLittleMemory) {
  Recorder recorder;
  const record::Stacks stacks{kStart, std::string(1U << 20, 's')};
  for (int i = 0; i < 96; ++i) recorder.add(stacks);
  const std::int64_t before_kib = peak_kib();
  EXPECT_EQ(resume_point(recorder.fd()).offset, recorder.writer().offset());
  EXPECT_LT(peak_kib() - before_kib, 16 << 10);
}

TEST(ResumePoint, IsBehindWhatCannotBeRead) {
  Recorder recorder;
  recorder.row(kStart, {});
  recorder.seal();
  const base::File unreadable = base::File::open(recorder.path(), O_WRONLY);
  EXPECT_EQ(resume_point(unreadable.fd()).offset, recorder.writer().offset());
}

}  // namespace
}  // namespace tools
