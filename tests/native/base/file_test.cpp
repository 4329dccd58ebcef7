#include "base/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/memory.hpp"

namespace base {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(File, ClosesItsDescriptorAtTheEndOfItsLife) {
  int fd = -1;
  {
    const File file = File::open("/dev/null", O_RDONLY);
    fd = file.fd();
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(File, IsCloseOnExecHoweverItWasMade) {
  const File opened = File::open("/dev/null", O_RDONLY);
  const File memory = make_memfd("test");
  const File second = opened.duplicate();
  for (const File* file : {&opened, &memory, &second}) {
    EXPECT_EQ(::fcntl(file->fd(), F_GETFD), FD_CLOEXEC);
  }
}

TEST(File, MovesWithoutClosing) {
  File first = File::open("/dev/null", O_RDONLY);
  const int fd = first.fd();
  File second = std::move(first);
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): a moved file is empty
  EXPECT_EQ(second.fd(), fd);
  second = File::open("/dev/zero", O_RDONLY);
  EXPECT_TRUE(second.valid());
}

TEST(File, SaysWhatItTriedOnWhatAndWhyItFailed) {
  try {
    File::open("/nonexistent/file", O_RDONLY, 0, "cannot open recording");
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "cannot open recording '/nonexistent/file': No such file or directory");
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_EQ(error.object(), "/nonexistent/file");
  }
}

TEST(Error, AddsTheRemedyBehindTheReason) {
  EXPECT_STREQ(Error("cannot read", "x", "it is empty", "remove it").what(),
               "cannot read 'x': it is empty; remove it");
  EXPECT_STREQ(Error("cannot record", "", "no command").what(), "cannot record: no command");
}

TEST(ReadText, ReadsAProcFileWhole) {
  const File file = File::open("/proc/self/stat", O_RDONLY);
  std::array<char, 4096> buffer{};
  const std::string_view text = read_text(file.fd(), buffer);
  EXPECT_TRUE(text.starts_with(std::to_string(::getpid()) + " ("));
  EXPECT_TRUE(text.ends_with('\n'));
}

TEST(ReadText, StopsAtTheEndOfTheBuffer) {
  const File file = File::open("/proc/self/maps", O_RDONLY);
  std::array<char, 64> buffer{};
  EXPECT_EQ(read_text(file.fd(), buffer).size(), buffer.size());
}

TEST(ReadText, ReadsMoreThanOnePage) {
  const std::string long_text(100'000, 'x');
  const File file = make_memfd("test");
  ASSERT_TRUE(write_at(file.fd(), long_text, 0));
  std::vector<char> buffer(200'000);
  EXPECT_EQ(read_text(file.fd(), buffer), long_text);
}

TEST(ReadAt, SaysWhyItFailed) {
  std::array<char, 8> buffer{};
  EXPECT_FALSE(read_at(-1, buffer, 0));
  EXPECT_EQ(errno, EBADF);
}

TEST(WriteAt, WritesWhereItIsTold) {
  const File file = make_memfd("test");
  ASSERT_TRUE(write_at(file.fd(), "hello", 3));
  EXPECT_EQ(file_size(file.fd()), 8U);
  std::array<char, 8> buffer{};
  ASSERT_TRUE(read_at(file.fd(), buffer, 0));
  EXPECT_EQ(std::string_view(buffer.data() + 3, 5), "hello");
}

TEST(ReadSmallFile, NeverReadsMoreThanItsLimit) {
  EXPECT_EQ(read_small_file("/dev/zero", 10)->size(), 10U);
  EXPECT_FALSE(read_small_file("/nonexistent"));
}

TEST(ReadSmallFile, TakesMemoryForWhatIsThere) {
  const auto text = read_small_file("/proc/self/stat", 4U << 20);
  ASSERT_TRUE(text);
  EXPECT_GT(text->size(), 0U);
  EXPECT_LT(text->capacity(), 64U << 10);
  const File file = make_memfd("test");
  const std::string content(100'000, 'x');
  ASSERT_TRUE(write_at(file.fd(), content, 0));
  EXPECT_EQ(read_small_file("/proc/self/fd/" + std::to_string(file.fd()), 4U << 20), content);
}

TEST(IdentityOf, TellsFilesApartByWhatTheyAre) {
  const File file = make_memfd("a");
  const File same = file.duplicate();
  const File other = make_memfd("a");
  EXPECT_EQ(identity_of(file.fd()), identity_of(same.fd()));
  EXPECT_NE(identity_of(file.fd()), identity_of(other.fd()));
  EXPECT_FALSE(identity_of(-1));
}

TEST(Memory, ASealedFileCanNotBeChanged) {
  const File file = make_sealed_memfd("test", "source");
  ASSERT_TRUE(file.valid());
  EXPECT_TRUE(is_sealed(file.fd()));
  EXPECT_FALSE(write_at(file.fd(), "x", 0));
  EXPECT_NE(::ftruncate(file.fd(), 0), 0);
  EXPECT_FALSE(is_sealed(make_memfd("open").fd()));
}

}  // namespace
}  // namespace base
