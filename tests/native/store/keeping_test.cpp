#include "store/keeping.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/clock.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

namespace fs = std::filesystem;
using synthetic::Recorder;

constexpr std::int64_t kDaySeconds = 86'400;
constexpr KeepLimits kNothing{0, 0};

class KeepingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "jumper-keeping-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
    directory_ = base::File::try_open(name.c_str(), O_RDONLY | O_DIRECTORY);
  }
  void TearDown() override { fs::remove_all(path_); }

  static std::string name(int number) {
    return "20250101T00000" + std::to_string(number) + "-1-0000000" + std::to_string(number) +
           ".jumper";
  }
  static std::string recording(bool ended) {
    Recorder recorder;
    recorder.row(synthetic::kStart);
    if (ended) recorder.add(record::End{synthetic::kStart + 1});
    return recorder.bytes();
  }
  void make(const std::string& file, std::string_view content, std::int64_t days) const {
    const fs::path path = path_ / file;
    const base::File made = base::File::open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    ASSERT_TRUE(base::write_at(made.fd(), content, 0));
    const time_t when = base::clock_ns(CLOCK_REALTIME) / 1'000'000'000 - days * kDaySeconds;
    const timespec times[2]{{when, 0}, {when, 0}};
    ASSERT_EQ(::futimens(made.fd(), &times[0]), 0);
  }
  [[nodiscard]] bool there(const std::string& file) const {
    return fs::exists(fs::symlink_status(path_ / file));
  }
  Kept run(const KeepLimits& limits) const {
    return keep(directory_.fd(), limits, base::FileIdentity{});
  }

  fs::path path_;
  base::File directory_;
};

TEST(Keeping, KnowsTheNamesThatWeGive) {
  for (const char* good :
       {"20261129T220104-4242-0a1b2c3d.jumper", "20261129T220104-1-0a1b2c3d-2.jumper",
        "20261129T220104-4194304-ffffffff-99.jumper"}) {
    EXPECT_TRUE(is_own_name(good)) << good;
  }
  for (const char* bad :
       {"", ".jumper", "mine.jumper", "20261129T220104-4242-0a1b2c3d", "20261129-4242-0a.jumper",
        "20261129T220104-4242-0a1b2c3d.jumper~", "a20261129T220104-4242-0a1b2c3d.jumper",
        "20261129T220104-4242-0A1B2C3D.jumper", "20261129T220104-4242-0a1b2c3d-.jumper",
        "20261129T220104-4242-0a1b2c3d-100.jumper", "20261129T220104--0a1b2c3d.jumper"}) {
    EXPECT_FALSE(is_own_name(bad)) << bad;
  }
}

TEST(Keeping, GivesNamesThatNobodyGuesses) {
  EXPECT_NE(temporary_name(), temporary_name());
  EXPECT_FALSE(is_own_name(temporary_name()));
}

TEST_F(KeepingTest, DeletesWhatIsTooOld) {
  make(name(1), recording(true), 30);
  make(name(2), recording(true), 29);
  const Kept kept = run({30, INT64_MAX});
  EXPECT_FALSE(there(name(1)));
  EXPECT_TRUE(there(name(2)));
  EXPECT_EQ(kept.recordings, 1U);
  EXPECT_EQ(kept.bytes, static_cast<std::int64_t>(recording(true).size()));
  EXPECT_EQ(count_kept(directory_.fd()).recordings, 1U);
}

TEST_F(KeepingTest, DeletesTheOldestUntilTheRestIsSmallEnough) {
  for (int number = 1; number <= 4; ++number) make(name(number), recording(true), 9 - number);
  const auto size = static_cast<std::int64_t>(recording(true).size());
  EXPECT_EQ(run({30, 2 * size}).recordings, 2U);
  EXPECT_FALSE(there(name(1)));
  EXPECT_FALSE(there(name(2)));
  EXPECT_TRUE(there(name(3)));
}

TEST_F(KeepingTest, LeavesWhatMayStillBeWritten) {
  make(name(1), recording(false), 0);
  EXPECT_EQ(run(kNothing).recordings, 1U);
  // Nobody of it is here, and nothing came for days.
  make(name(2), recording(false), 2);
  run(kNothing);
  EXPECT_FALSE(there(name(2)));
}

TEST_F(KeepingTest, LeavesTheOneWhoseRootLives) {
  Recorder recorder;
  std::string boot(*base::read_small_file("/proc/sys/kernel/random/boot_id"));
  boot.pop_back();
  record::Machine machine;
  machine.boot_id = boot;
  machine.root_pid = ::getpid();
  machine.root_start_ticks = -2;  // another process had the number
  const auto bytes = [&] {
    base::File file = base::make_memfd("one");
    record::LogWriter writer(file.fd(), 0, 0);
    EXPECT_TRUE(writer.append(machine));
    std::string content(writer.offset(), '\0');
    EXPECT_TRUE(base::read_at(file.fd(), content, 0));
    return content;
  };
  make(name(1), bytes(), 5);
  run(kNothing);
  EXPECT_FALSE(there(name(1)));

  const auto stat = base::read_small_file("/proc/self/stat");
  std::string_view rest = std::string_view(*stat).substr(stat->rfind(')'));
  for (int field = 2; field < 22; ++field) rest.remove_prefix(rest.find(' ') + 1);
  machine.root_start_ticks = std::stoll(std::string(rest));
  make(name(2), bytes(), 5);
  run(kNothing);
  EXPECT_TRUE(there(name(2)));
}

TEST_F(KeepingTest, NeverTouchesItsOwn) {
  make(name(1), recording(true), 99);
  const base::File own = base::File::open(path_ / name(1), O_RDONLY);
  keep(directory_.fd(), kNothing, *base::identity_of(own.fd()));
  EXPECT_TRUE(there(name(1)));
}

// Fault: X2
TEST_F(KeepingTest, NeverTouchesWhatIsNoRecordingOfOurs) {
  make("precious.jumper", recording(true), 99);
  make(name(1), "no recording", 99);
  make(name(2), "", 99);
  make("other", recording(true), 99);
  ASSERT_EQ(::symlinkat("other", directory_.fd(), name(3).c_str()), 0);
  ASSERT_EQ(::linkat(directory_.fd(), "other", directory_.fd(), name(4).c_str(), 0), 0);
  ASSERT_EQ(::mkfifoat(directory_.fd(), name(5).c_str(), 0600), 0);
  ASSERT_EQ(::mkdirat(directory_.fd(), name(6).c_str(), 0700), 0);
  run(kNothing);
  for (int number = 1; number <= 6; ++number) EXPECT_TRUE(there(name(number))) << number;
  EXPECT_TRUE(there("precious.jumper"));
  EXPECT_EQ(*base::read_small_file(path_ / "other"), recording(true));
}

// Fault: X2
TEST_F(KeepingTest, DeletesNothingWhereOthersMayLook) {
  make(name(1), recording(true), 99);
  for (const mode_t mode : {0755, 0750, 0777, 0701}) {
    ASSERT_EQ(::fchmod(directory_.fd(), mode), 0);
    EXPECT_EQ(run(kNothing).recordings, 0U);
    EXPECT_TRUE(there(name(1)));
  }
}

TEST_F(KeepingTest, RemovesTheHalfWrittenCopiesOfTheDead) {
  const std::string ours = temporary_name();
  std::string dead = ours;
  const std::string pid = "-" + std::to_string(::getpid()) + "-";
  dead.replace(dead.find(pid), pid.size(), "-999999999-");
  make(dead, "half", 0);
  make(".0123abcd-1-1-0123456789abcdef.part", "another machine's", 0);
  make(".0123abcd-1-1-0123456789abcde0.part", "another machine's", 2);
  make(".hidden", "not ours", 99);
  run({30, INT64_MAX});
  EXPECT_FALSE(there(dead));
  EXPECT_TRUE(there(".0123abcd-1-1-0123456789abcdef.part"));
  EXPECT_FALSE(there(".0123abcd-1-1-0123456789abcde0.part"));
  EXPECT_TRUE(there(".hidden"));
}

}  // namespace
}  // namespace store
