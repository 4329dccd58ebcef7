#include "transfer/segment.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <limits>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "process_state.hpp"
#include "transfer/pages.hpp"

namespace transfer {
namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

std::vector<std::byte> read_back(const base::File& file, BufferPlace place) {
  std::vector<std::byte> bytes(place.size_bytes);
  const auto count = base::read_at(file.fd(), {reinterpret_cast<char*>(bytes.data()), bytes.size()},
                                   static_cast<off_t>(place.offset_bytes));
  EXPECT_EQ(count, bytes.size());
  return bytes;
}

class SegmentWriterTest : public FolderTest {
 protected:
  // The errno value that a writer of these bytes fails with; 0 when it doesn't fail.
  [[nodiscard]] int code_of(Transport transport, std::size_t size) const {
    const std::vector<std::byte> bytes(size);
    SegmentWriter writer(transport, folder_);
    writer.add(bytes);
    try {
      writer.finish(2);
      return 0;
    } catch (const base::Error& error) {
      return error.code();
    }
  }
};

TEST_F(SegmentWriterTest, WhatIsDiscardedIsCopiedFirstAndThenReadsAsItsFile) {
  const std::size_t size = 40 * page_bytes();
  const base::File source = base::make_memfd("source");
  ASSERT_EQ(::ftruncate(source.fd(), static_cast<off_t>(size)), 0);
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, source.fd(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const std::span bytes(static_cast<std::byte*>(mapped), size);
  std::ranges::fill(bytes, std::byte{7});
  for (const Transport transport : {Transport::kMemfd, Transport::kFile}) {
    std::ranges::fill(bytes, std::byte{7});
    SegmentWriter writer(transport, folder_);
    const BufferPlace first = writer.add_and_discard(bytes.first(size - 1));
    const BufferPlace within = writer.add(bytes.subspan(page_bytes(), 10));
    const base::File file = writer.finish(2);
    EXPECT_THAT(read_back(file, first), testing::Each(std::byte{7}));
    EXPECT_THAT(read_back(file, within), testing::Each(std::byte{7}));
    EXPECT_THAT(bytes.first(size - page_bytes()), testing::Each(std::byte{0}));
    EXPECT_THAT(bytes.last(page_bytes()), testing::Each(std::byte{7})) << "not a whole page";
  }
  ::munmap(mapped, size);
}

TEST_F(SegmentWriterTest, GivesBackWhatItWasGiven) {
  std::mt19937 random(1);
  for (const Transport transport : {Transport::kMemfd, Transport::kFile}) {
    std::vector<std::vector<std::byte>> buffers;
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64},
                                   std::size_t{65'535}, std::size_t{65'536}, std::size_t{65'537},
                                   std::size_t{0}, std::size_t{20'000'001}, std::size_t{7}}) {
      buffers.push_back(random_bytes(size, random));
    }
    SegmentWriter writer(transport, folder_);
    std::vector<BufferPlace> places;
    for (const auto& buffer : buffers) places.push_back(writer.add(buffer));
    const base::File file = writer.finish(3);
    EXPECT_EQ(base::file_size(file.fd()), writer.size_bytes());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_TRUE(read_back(file, places[i]) == buffers[i]) << i;
    }
    EXPECT_EQ(::fcntl(file.fd(), F_GETFD), FD_CLOEXEC);
    EXPECT_TRUE(is_empty());
  }
}

TEST_F(SegmentWriterTest, LetsLargeBuffersBeginAtAPageAndSmallOnesAtACacheLine) {
  const std::vector<std::byte> bytes(200'000);
  const std::span<const std::byte> all(bytes);
  SegmentWriter writer(Transport::kMemfd);
  EXPECT_EQ(writer.add(all.first(10)), (BufferPlace{0, 10}));
  EXPECT_EQ(writer.add(all.first(65'535)), (BufferPlace{64, 65'535}));
  EXPECT_EQ(writer.add(all.first(65'536)), (BufferPlace{round_up(65'599, page_bytes()), 65'536}));
  const BufferPlace next = writer.add(all);
  EXPECT_EQ(next.offset_bytes % page_bytes(), 0U);
  EXPECT_EQ(writer.add(all.first(0)), (BufferPlace{round_up(next.offset_bytes + 200'000, 64), 0}));
}

TEST_F(SegmentWriterTest, MakesAnEmptySegmentOfNothing) {
  for (const Transport transport : {Transport::kMemfd, Transport::kFile}) {
    EXPECT_EQ(base::file_size(SegmentWriter(transport, folder_).finish(1).fd()), 0U);
  }
}

TEST_F(SegmentWriterTest, SealsMemory) {
  const std::vector<std::byte> bytes(100'000);
  SegmentWriter writer(Transport::kMemfd);
  writer.add(bytes);
  const base::File file = writer.finish(2);
  EXPECT_TRUE(base::is_sealed(file.fd()));
  EXPECT_FALSE(base::write_at(file.fd(), "x", 0));
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(::ftruncate(file.fd(), 0), 0);
  EXPECT_NE(::fcntl(file.fd(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
}

TEST_F(SegmentWriterTest, MakesAFileThatNobodyElseCanOpen) {
  const std::vector<std::byte> bytes(100'000);
  SegmentWriter writer(Transport::kFile, folder_);
  writer.add(bytes);
  const base::File file = writer.finish(1);
  struct stat status{};
  ASSERT_EQ(::fstat(file.fd(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  EXPECT_EQ(status.st_nlink, 0U);
}

TEST_F(SegmentWriterTest, SaysWhatItTriedAndWhatToDo) {
  const std::vector<std::byte> bytes(2'100'000);
  SegmentWriter writer(Transport::kMemfd, "", 1'000'000);
  writer.add(bytes);
  try {
    writer.finish(1);
    FAIL() << "took more than is free";
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(),
                 "cannot carry the namespace '2.00 MiB in memory': only 977 KiB are free; delete "
                 "what you don't need any more, or carry it in a file");
  }
}

TEST_F(SegmentWriterTest, FailsWithoutADirectory) {
  SegmentWriter writer(Transport::kFile, folder_ + "/none");
  try {
    writer.finish(1);
    FAIL() << "found a directory";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_EQ(error.object(), "0 B in a file in " + folder_ + "/none");
  }
}

TEST_F(SegmentWriterTest, FailsWhereFilesMayNotBeSoLargeAndSurvives) {
  const auto before = open_descriptors();
  EXPECT_EQ(in_child([&] {
              ::signal(SIGXFSZ, SIG_DFL);  // NOLINT(bugprone-signal-handler)
              const rlimit limit{100'000, 100'000};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
              const bool right = code_of(Transport::kMemfd, 200'000) == EFBIG &&
                                 code_of(Transport::kFile, 200'000) == EFBIG &&
                                 code_of(Transport::kFile, 90'000) == 0 &&
                                 open_descriptors() == before;
              return right ? 0 : 1;
            }),
            0);
}

TEST_F(SegmentWriterTest, FailsOnAFullFileSystemBeforeItCopiesAndLeavesNothing) {
  const auto before = open_descriptors();
  const int status = in_child([&] {
    // Root needs no user namespace.
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 77;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
    if (::mount("none", folder_.c_str(), "tmpfs", 0, "size=1m") != 0) return 77;
    if (code_of(Transport::kFile, 2'000'000) != ENOSPC) return 1;
    if (!is_empty() || open_descriptors() != before) return 2;
    return code_of(Transport::kFile, 1'000'000) == 0 ? 0 : 3;  // all room is there again
  });
  if (status == 77) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(status, 0);
}

TEST_F(SegmentWriterTest, FailsWhenABufferIsGoneInsteadOfCrashing) {
  const std::string path = folder_ + "/shortened";
  const base::File source = base::File::open(path, O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::ftruncate(source.fd(), 1 << 20), 0);
  void* mapped = ::mmap(nullptr, 1 << 20, PROT_READ, MAP_SHARED, source.fd(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ASSERT_EQ(::ftruncate(source.fd(), 0), 0);
  SegmentWriter writer(Transport::kMemfd);
  writer.add({static_cast<const std::byte*>(mapped), 1 << 20});
  const auto before = open_descriptors();
  try {
    writer.finish(2);
    ADD_FAILURE() << "copied what isn't there";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), EFAULT);
  }
  EXPECT_EQ(open_descriptors(), before);
  ::munmap(mapped, 1 << 20);
}

// A failpoint is read once in a process, so these run in processes of their own.
class SegmentWriterDeathTest : public SegmentWriterTest {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    SegmentWriterTest::SetUp();
  }
  void TearDown() override {
    ::unsetenv("JUMPER_FAILPOINTS");
    SegmentWriterTest::TearDown();
  }
  // Ends the process: 0 when it failed with `code` and nothing is left.
  [[noreturn]] void run(const char* failpoints, Transport transport, int code) const {
    ::setenv("JUMPER_FAILPOINTS", failpoints, 1);
    const auto before = open_descriptors();
    const int found = code_of(transport, 20'000'000);
    const bool right = found == code && is_empty() && open_descriptors() == before;
    std::exit(right ? 0 : 1 + found);
  }
};

TEST_F(SegmentWriterDeathTest, UnlinksItsFileAtOnceWhereThereIsNoOTmpfile) {
  EXPECT_EXIT(run("tmpfile=95@1", Transport::kFile, 0), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run("tmpfile=13@1", Transport::kFile, EACCES), testing::ExitedWithCode(0), "");
}

TEST_F(SegmentWriterDeathTest, LeavesNothingWhereverItFails) {
  EXPECT_EXIT(run("memfd=24@1", Transport::kMemfd, EMFILE), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run("reserve=12@1", Transport::kMemfd, ENOMEM), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run("reserve=28@1", Transport::kFile, ENOSPC), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run("write=5@2", Transport::kFile, EIO), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run("write=28@1", Transport::kMemfd, ENOSPC), testing::ExitedWithCode(0), "");
}

TEST(AvailableMemoryBytes, IsAFigureOfThisMachine) {
  EXPECT_GT(available_memory_bytes(), std::size_t{16} << 20);
  EXPECT_LT(available_memory_bytes(), kMost);
}

}  // namespace
}  // namespace transfer
