#include "tools/whereabouts.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/memory.hpp"

namespace tools {
namespace {

namespace fs = std::filesystem;
using What = Whereabouts::What;

class WhereaboutsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "jumper-whereabouts-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = fs::canonical(name);
    path_ = folder_ / "a.jumper";
    file_ = make(path_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static base::File make(const std::string& path) {
    return base::File::open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  }
  [[nodiscard]] What what() const { return look_for(file_.fd(), path_).what; }

  fs::path folder_;
  std::string path_;
  base::File file_;
};

TEST_F(WhereaboutsTest, IsThere) {
  EXPECT_EQ(path_of(file_.fd()), path_);
  EXPECT_EQ(what(), What::kThere);
}

TEST_F(WhereaboutsTest, IsGoneWhenItWasDeleted) {
  fs::remove(path_);
  EXPECT_EQ(what(), What::kGone);
  EXPECT_EQ(path_of(file_.fd()), path_) << "where it was";
}

TEST_F(WhereaboutsTest, IsGoneWhenAnotherTookItsPlace) {
  make(folder_ / "b");
  fs::rename(folder_ / "b", path_);
  EXPECT_EQ(what(), What::kGone);
}

TEST_F(WhereaboutsTest, IsGoneThoughAnotherNameIsLeft) {
  fs::create_hard_link(path_, folder_ / "b");
  fs::remove(path_);
  EXPECT_EQ(what(), What::kGone);
}

TEST_F(WhereaboutsTest, IsGoneWithItsFolder) {
  fs::remove_all(folder_);
  EXPECT_EQ(what(), What::kGone);
}

TEST_F(WhereaboutsTest, IsGoneWhenNfsHidesIt) {
  fs::rename(path_, folder_ / ".nfs000000000012");
  EXPECT_EQ(what(), What::kGone);
}

TEST_F(WhereaboutsTest, WasRenamed) {
  fs::rename(path_, folder_ / "b.jumper");
  make(path_);
  const Whereabouts where = look_for(file_.fd(), path_);
  EXPECT_EQ(where.what, What::kRenamed);
  EXPECT_EQ(where.path, folder_ / "b.jumper");
}

TEST_F(WhereaboutsTest, WasRenamedWithItsFolder) {
  const std::string moved = folder_.string() + "-moved";
  fs::rename(folder_, moved);
  const Whereabouts where = look_for(file_.fd(), path_);
  EXPECT_EQ(where.path, moved + "/a.jumper");
  fs::rename(moved, folder_);
}

TEST_F(WhereaboutsTest, HasNoneInMemory) { EXPECT_EQ(path_of(base::make_memfd("x").fd()), ""); }

TEST_F(WhereaboutsTest, TellsNothingOfAClosedDescriptor) {
  EXPECT_EQ(look_for(-1, path_).what, What::kUnknown);
}

}  // namespace
}  // namespace tools
