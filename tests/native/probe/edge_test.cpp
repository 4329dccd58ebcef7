#include "probe/edge.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "actor.hpp"

namespace probe {
namespace {

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

TEST(EdgeReader, ReadsWhatThisProcessUsed) {
  EdgeReader reader;
  const auto before = reader.read();
  burn(20 * kMilli);
  const std::string text(100'000, 'x');
  const base::File null = base::File::open("/dev/null", O_WRONLY);
  ASSERT_TRUE(base::write_all(null.fd(), text));
  const auto after = reader.read();
  EXPECT_GE(after.cpu_time_ns - before.cpu_time_ns, 20 * kMilli);
  EXPECT_LE(after.cpu_time_ns, own_cpu_ns());
  EXPECT_EQ(after.io_write_bytes - before.io_write_bytes, 100'000);
  EXPECT_EQ(after.io_write_ops - before.io_write_ops, 1);
  EXPECT_GT(after.io_read_bytes, before.io_read_bytes);  // its own reading
  for (const auto field : record::kEdgeCounterFields) EXPECT_TRUE(record::is_known(after.*field));
}

TEST(EdgeReader, ReadsWhatChildrenUsedThatWereWaitedFor) {
  EdgeReader reader;
  const auto before = reader.read();
  wait_for(child([] {
    burn(30 * kMilli);
    std::vector<char> memory(20'000'000, 1);
    ::_exit(memory[5] - 1);
  }));
  const auto after = reader.read();
  EXPECT_GE(after.children_cpu_time_ns - before.children_cpu_time_ns, 29 * kMilli);
  EXPECT_EQ(after.children_cpu_time_ns, waited_cpu_ns());
  EXPECT_GE(after.children_peak_bytes, 20'000'000);
}

TEST(EdgeReader, ReadsTheHighWaterMark) {
  EdgeReader reader;
  const auto before = reader.read();
  {
    const std::vector<char> memory(50'000'000, 1);
    EXPECT_EQ(memory[7], 1);
  }
  EXPECT_GE(reader.read().peak_bytes, 50'000'000);
  EXPECT_GT(before.peak_bytes, 0);
}

TEST(EdgeReader, OpensItsFilesAnewWhenTheUsersCodeClosedThem) {
  const std::size_t at_first = open_descriptors();
  {
    EdgeReader reader;
    const auto before = reader.read();
    ASSERT_EQ(open_descriptors(), at_first + 2);
    // As daemons do: close them all. (Not 0 to 2, nor what the sanitizers or gtest hold: only ours,
    // which are the last.)
    for (int fd = 3; fd < 256; ++fd) {
      std::error_code error;
      const auto target =
          std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error).string();
      if (target.ends_with("/io") || target.ends_with("/status")) ::close(fd);
    }
    ASSERT_EQ(open_descriptors(), at_first);
    const auto after = reader.read();
    EXPECT_GE(after.io_read_bytes, before.io_read_bytes);
    EXPECT_TRUE(record::is_known(after.peak_bytes));
    EXPECT_EQ(open_descriptors(), at_first + 2);
  }
  EXPECT_EQ(open_descriptors(), at_first);
}

TEST(EdgeReader, LeavesTheUsersFilesAloneThatHaveItsNumbers) {
  std::vector<int> numbers;
  {
    EdgeReader reader;
    for (int fd = 3; fd < 256; ++fd) {
      std::error_code error;
      const auto target =
          std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error).string();
      if (!target.ends_with("/io") && !target.ends_with("/status")) continue;
      const int other = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
      ASSERT_EQ(::dup3(other, fd, O_CLOEXEC), fd);
      ::close(other);
      numbers.push_back(fd);
    }
    ASSERT_EQ(numbers.size(), 2U);
    EXPECT_TRUE(record::is_known(reader.read().io_read_bytes));
    EXPECT_TRUE(record::is_known(reader.read().peak_bytes));
  }
  for (const int fd : numbers) {
    struct stat status{};
    EXPECT_EQ(::fstat(fd, &status), 0) << "the user's file was closed";
    ::close(fd);
  }
}

}  // namespace
}  // namespace probe
