#include "watch/place.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"

namespace watch {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

mode_t mode_of(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

class PlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "jumper-place-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    home_ = name;
    for (const char* variable : {"HOME", "TMPDIR"}) ::setenv(variable, name.c_str(), 1);
    ::unsetenv("XDG_STATE_HOME");
    mask_ = ::umask(0);  // what we make is private whatever the user's mask is
  }
  void TearDown() override {
    ::umask(mask_);
    fs::remove_all(home_);
    ::unsetenv("TMPDIR");
  }

  fs::path home_;
  mode_t mask_ = 0;
};

TEST_F(PlaceTest, IsPrivateInTheStateDirectory) {
  const Place place = create_recording("");
  EXPECT_THAT(place.path, StartsWith((home_ / ".local/state/jumper/").string()));
  EXPECT_THAT(place.path, ::testing::EndsWith(".jumper"));
  EXPECT_EQ(mode_of(place.path), 0600);
  EXPECT_EQ(mode_of(home_ / ".local/state/jumper"), 0700);
  EXPECT_EQ(place.sentence, "recorded in " + place.path);
  EXPECT_THAT(place.refusals, IsEmpty());
}

TEST_F(PlaceTest, NeverTakesTheSameNameTwice) {
  EXPECT_NE(create_recording("").path, create_recording("").path);
}

TEST_F(PlaceTest, FollowsXdgStateHomeIfItIsAbsolute) {
  ::setenv("XDG_STATE_HOME", (home_ / "state").c_str(), 1);
  EXPECT_THAT(create_recording("").path, StartsWith((home_ / "state/jumper/").string()));
  ::setenv("XDG_STATE_HOME", "relative", 1);
  EXPECT_THAT(create_recording("").path, StartsWith((home_ / ".local").string()));
}

TEST_F(PlaceTest, UsesTheNamedDirectoryFirst) {
  EXPECT_THAT(create_recording(home_ / "mine").path, StartsWith((home_ / "mine/").string()));
}

TEST_F(PlaceTest, RefusesADirectoryThatOthersMayWriteTo) {
  fs::create_directory(home_ / "open");
  ::chmod((home_ / "open").c_str(), 0770);
  const Place place = create_recording(home_ / "open");
  EXPECT_THAT(place.path, StartsWith((home_ / ".local").string()));
  EXPECT_THAT(place.refusals, ElementsAre(HasSubstr("others may write to it")));
}

TEST_F(PlaceTest, RefusesASymbolicLink) {
  fs::create_directory(home_ / "target");
  fs::create_directory_symlink(home_ / "target", home_ / "link");
  const Place place = create_recording(home_ / "link");
  EXPECT_THAT(place.refusals, ElementsAre(HasSubstr("a link or file")));
  EXPECT_TRUE(fs::is_empty(home_ / "target"));
}

TEST_F(PlaceTest, RefusesAnotherUsersDirectory) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  fs::create_directory(home_ / "theirs");
  ASSERT_EQ(::chown((home_ / "theirs").c_str(), 12345, 12345), 0);
  ::chmod((home_ / "theirs").c_str(), 0700);
  EXPECT_THAT(create_recording(home_ / "theirs").refusals,
              ElementsAre(HasSubstr("belongs to another user")));
}

TEST_F(PlaceTest, GoesToAPrivateTemporaryDirectoryWithoutAHome) {
  ::setenv("HOME", "/proc/nowhere", 1);
  const Place place = create_recording("");
  EXPECT_THAT(place.path, StartsWith((home_ / "jumper-").string()));
  EXPECT_EQ(mode_of(fs::path(place.path).parent_path()), 0700);
  EXPECT_THAT(place.refusals, ElementsAre(HasSubstr("/proc/nowhere")));
}

TEST_F(PlaceTest, NamesWhatTheUserNamedByTheUmask) {
  ::umask(022);
  const Place place = create_named_recording(home_ / "run.jumper");
  EXPECT_EQ(mode_of(place.path), 0644);
  try {
    create_named_recording(home_ / "run.jumper");
    FAIL() << "overwritten";
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("File exists; remove it or name another with -o"));
  }
}

TEST_F(PlaceTest, MakesAnotherFileOfTheSameName) {
  const fs::path path = home_ / "state/a.jumper";
  Place place = create_again(path);
  ASSERT_TRUE(place.file.valid());
  EXPECT_EQ(place.path, path);
  EXPECT_EQ(mode_of(path), 0600);
  EXPECT_EQ(mode_of(path.parent_path()), 0700) << "its folder was gone too";
}

TEST_F(PlaceTest, NumbersTheNameWhenItIsTaken) {
  ASSERT_EQ(::symlink("/nowhere", (home_ / "a.jumper").c_str()), 0);
  EXPECT_EQ(create_again(home_ / "a.jumper").path, home_ / "a-2.jumper");
  EXPECT_EQ(create_again(home_ / "a.jumper").path, home_ / "a-3.jumper");
  EXPECT_TRUE(fs::is_symlink(fs::symlink_status(home_ / "a.jumper")));
  EXPECT_FALSE(fs::exists("/nowhere"));
}

TEST_F(PlaceTest, MakesNoOtherFileWhereOthersMayWrite) {
  ASSERT_EQ(::chmod(home_.c_str(), 0777), 0);
  const Place place = create_again(home_ / "a.jumper");
  EXPECT_FALSE(place.file.valid());
  EXPECT_THAT(place.refusals, ElementsAre(HasSubstr("others may write to it")));
  EXPECT_TRUE(fs::is_empty(home_));
}

}  // namespace
}  // namespace watch
