#include "tools/upkeep.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "base/clock.hpp"
#include "base/memory.hpp"
#include "store/recording.hpp"

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecondNs = 1'000'000'000;

class UpkeepTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "jumper-upkeep-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = fs::canonical(name);
    path_ = folder_ / "a.jumper";
    options_.recording_fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  void TearDown() override { fs::remove_all(folder_); }

  auto tell() {
    return [this](const record::Message& message, int descriptor) {
      told_.push_back(std::get<record::Moved>(message));
      descriptors_.push_back(descriptor);
      return true;
    };
  }
  // A second later, until the kernel is told something.
  void await_news(Upkeep& upkeep, record::LogWriter& writer, std::optional<std::size_t> spilled) {
    std::int64_t now_ns = base::monotonic_ns();
    for (int look = 0; told_.empty() && look < 2000; ++look) {
      upkeep.look_after(writer, spilled, now_ns += kSecondNs);
      ::poll(nullptr, 0, 1);
    }
    ASSERT_EQ(told_.size(), 1U);
  }
  static void write_some(record::LogWriter& writer, int rows) {
    ASSERT_TRUE(writer.append(record::Machine{}));
    ASSERT_TRUE(writer.append(record::Schema{{{"process.cpu_time_ns", record::Kind::kCounter}}}));
    for (int row = 1; row <= rows; ++row) {
      ASSERT_TRUE(writer.append_row({row * kSecondNs / 10, 1, 1, 0, {row}}));
      ASSERT_TRUE(row % 10 != 0 || writer.seal());
    }
  }

  fs::path folder_, path_;
  UpkeepOptions options_;
  std::vector<record::Moved> told_;
  std::vector<int> descriptors_;
};

// Fault: S7
TEST_F(UpkeepTest, CopiesWhatWasDeletedAndTheRowsThatAreStillOpen) {
  Upkeep upkeep(options_, tell());
  record::LogWriter writer(upkeep.fd(), 0, 0);
  write_some(writer, 25);
  fs::remove(path_);
  await_news(upkeep, writer, std::nullopt);
  EXPECT_EQ(told_[0].reason, record::MoveReason::kReplaced);
  EXPECT_EQ(told_[0].path, path_);
  EXPECT_EQ(descriptors_[0], upkeep.fd());
  const store::Recording recording = store::Recording::open(path_);
  EXPECT_TRUE(recording.damages().empty());
  EXPECT_EQ(recording.last_sample_ns(), 25 * kSecondNs / 10);
  EXPECT_EQ(recording.gaps().size(), 1U);
}

TEST_F(UpkeepTest, CopiesTheFilesPartWhileTheRestIsInMemory) {
  Upkeep upkeep(options_, tell());
  record::LogWriter writer(upkeep.fd(), 0, 0);
  write_some(writer, 20);
  const std::size_t end = writer.open_offset();
  const base::File memory = base::make_memfd("spill");
  ASSERT_TRUE(writer.move_to(memory.fd(), 0));
  fs::remove(path_);
  await_news(upkeep, writer, end);
  EXPECT_EQ(base::file_size(upkeep.fd()), end);
  EXPECT_GT(*base::file_size(memory.fd()), 0U) << "the gap is written where the rows are";
}

TEST_F(UpkeepTest, ThinsWhatHasBecomeTooLong) {
  options_.most_bytes = 4000;
  Upkeep upkeep(options_, tell());
  record::LogWriter writer(upkeep.fd(), 0, 0);
  write_some(writer, 2005);
  const std::size_t before = writer.open_offset();
  await_news(upkeep, writer, std::nullopt);
  EXPECT_EQ(told_[0].reason, record::MoveReason::kThinned);
  EXPECT_LT(writer.offset(), before * 3 / 4);
  ASSERT_TRUE(writer.append_row({201 * kSecondNs, 1, 1, 0, {2006}}));
  const store::Recording recording = store::Recording::open(path_);
  EXPECT_TRUE(recording.damages().empty());
  EXPECT_EQ(recording.last_sample_ns(), 201 * kSecondNs);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

// Fault: S7
TEST_F(UpkeepTest, RenamesOverNobodysFile) {
  options_.most_bytes = 4000;
  Upkeep upkeep(options_, tell());
  record::LogWriter writer(upkeep.fd(), 0, 0);
  write_some(writer, 2005);
  fs::rename(path_, folder_ / "moved");
  const base::File foreign = base::File::open(path_, O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_TRUE(base::write_at(foreign.fd(), "not yours", 0));
  await_news(upkeep, writer, std::nullopt);
  EXPECT_EQ(*base::read_small_file(path_), "not yours");
  EXPECT_EQ(told_[0].path, folder_ / "moved");
}

TEST_F(UpkeepTest, ThinsNothingWhereOthersMayWrite) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  options_.most_bytes = 4000;
  Upkeep upkeep(options_, tell());
  record::LogWriter writer(upkeep.fd(), 0, 0);
  write_some(writer, 2005);
  const std::size_t before = writer.offset();
  upkeep.look_after(writer, std::nullopt, base::monotonic_ns());
  upkeep.finish(writer, std::nullopt);
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(base::file_size(upkeep.fd()), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace tools
