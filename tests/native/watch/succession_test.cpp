#include "watch/succession.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "record/log.hpp"

namespace watch {
namespace {

namespace fs = std::filesystem;

class SuccessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "jumper-succession-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] base::File make(const std::string& name, std::int64_t time_ns = 1) const {
    base::File file = base::File::open(folder_ / name, O_RDWR | O_CREAT | O_EXCL, 0600);
    record::LogWriter writer(file.fd(), 0, 0);
    record::Machine machine;
    machine.time_ns = time_ns;
    EXPECT_TRUE(writer.append(machine));
    return file;
  }
  static bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

  fs::path folder_;
};

TEST_F(SuccessionTest, KeepsWhatIsLentUntilItIsAskedAgain) {
  RecordingFile file(make("a"), folder_ / "a");
  const int first = file.lend();
  file.move_to(make("b"), folder_ / "b");
  const int second = file.newest();
  EXPECT_NE(first, second);
  EXPECT_TRUE(is_open(first));
  file.move_to(make("c"), folder_ / "c");
  EXPECT_TRUE(is_open(first)) << "somebody reads it";
  const int third = file.lend();
  EXPECT_NE(third, first);
  EXPECT_FALSE(is_open(first));
  EXPECT_EQ(file.path(), folder_ / "c");
}

TEST_F(SuccessionTest, HoldsNoFileThatNobodyReads) {
  RecordingFile file(make("a"), folder_ / "a");
  const int first = file.newest();
  file.move_to(make("b"), folder_ / "b");
  EXPECT_FALSE(is_open(first));
}

TEST_F(SuccessionTest, OpensAgainWhatWasClosed) {
  RecordingFile file(make("a"), folder_ / "a");
  ::close(file.lend());
  EXPECT_GE(file.lend(), 0);
  ::close(file.lend());
  const base::File foreign = make("b");
  fs::rename(folder_ / "b", folder_ / "a");
  EXPECT_EQ(file.lend(), -1);
  EXPECT_TRUE(is_open(foreign.fd()));
}

TEST_F(SuccessionTest, AdoptsTheCopyWhoseNewsWereLost) {
  RecordingFile file(make("a", 5), folder_ / "a");
  const base::File copy = make("copy", 5);
  fs::rename(folder_ / "copy", folder_ / "a");
  EXPECT_EQ(base::identity_of(file.newest()), base::identity_of(copy.fd()));
}

TEST_F(SuccessionTest, AdoptsNoOtherRecording) {
  RecordingFile file(make("a", 5), folder_ / "a");
  const auto identity = base::identity_of(file.newest());
  const base::File other = make("other", 6);
  fs::rename(folder_ / "other", folder_ / "a");
  EXPECT_EQ(base::identity_of(file.newest()), identity);
  fs::remove(folder_ / "a");
  fs::create_symlink("b", folder_ / "a");
  const base::File behind_a_link = make("b", 5);
  EXPECT_EQ(base::identity_of(file.newest()), identity);
}

}  // namespace
}  // namespace watch
