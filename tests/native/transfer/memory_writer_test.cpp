#include "transfer/memory_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "base/file.hpp"
#include "base/memory.hpp"

namespace transfer {
namespace {

std::vector<std::byte> random_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::mt19937 random(7);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

std::vector<std::byte> content(const base::File& file, std::size_t size, off_t offset) {
  std::vector<std::byte> bytes(size);
  const auto count =
      base::read_at(file.fd(), {reinterpret_cast<char*>(bytes.data()), size}, offset);
  EXPECT_EQ(count, size);
  return bytes;
}

// wchar of /proc/self/io.
std::int64_t written_bytes() {
  const auto text = base::read_small_file("/proc/self/io");
  const std::size_t at = text ? text->find("wchar: ") : std::string::npos;
  return at == std::string::npos ? -1 : std::atoll(text->c_str() + at + 7);
}

TEST(MemoryWriter, WritesEachSizeWhereItIsTold) {
  const auto bytes = random_bytes((3U << 20U) + 4097);
  MemoryWriter writer;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096},
        (std::size_t{1} << 20U) + 1, bytes.size() - 3}) {
    const base::File file = base::make_memfd("written");
    const std::span part = std::span(bytes).subspan(3, size);  // begins at no page
    ASSERT_EQ(writer.write_at(file.fd(), part, 12345), 0);
    EXPECT_TRUE(std::ranges::equal(content(file, size, 12345), part)) << size;
  }
}

TEST(MemoryWriter, IsNoOutputOfTheProcess) {
  const auto bytes = random_bytes(8U << 20U);
  const base::File file = base::make_memfd("written");
  MemoryWriter writer;
  const std::int64_t before = written_bytes();
  if (before < 0) GTEST_SKIP() << "this system keeps no account of a process's I/O";
  ASSERT_EQ(writer.write_at(file.fd(), bytes, 0), 0);
  EXPECT_LT(written_bytes() - before, 1 << 20);
}

TEST(MemoryWriter, WorksInSeveralThreads) {
  const auto bytes = random_bytes(16U << 20U);
  const base::File file = base::make_memfd("written");
  MemoryWriter writer;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::size_t begin = i * (4U << 20U);
      EXPECT_EQ(writer.write_at(file.fd(), std::span(bytes).subspan(begin, 4U << 20U),
                                static_cast<off_t>(begin)),
                0);
    });
  }
  threads.clear();
  EXPECT_EQ(content(file, bytes.size(), 0), bytes);
}

TEST(MemoryWriter, SaysThatASourceCannotBeRead) {
  constexpr std::size_t kSize = 1U << 20U;
  const base::File source = base::make_memfd("source");
  ASSERT_EQ(::ftruncate(source.fd(), kSize), 0);
  void* mapped = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, source.fd(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ASSERT_EQ(::ftruncate(source.fd(), kSize / 2), 0);
  const base::File file = base::make_memfd("written");
  MemoryWriter writer;
  const std::span bytes(static_cast<const std::byte*>(mapped), kSize);
  EXPECT_EQ(writer.write_at(file.fd(), bytes, 0), EFAULT);
  const auto whole = random_bytes(1000);
  EXPECT_EQ(writer.write_at(file.fd(), whole, 0), 0);  // and nothing of that is in the way
  EXPECT_EQ(content(file, 1000, 0), whole);
  ::munmap(mapped, kSize);
}

TEST(MemoryWriter, SaysThatTheTargetIsFull) {
  const auto bytes = random_bytes(100'000);
  const base::File full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  MemoryWriter writer;
  EXPECT_EQ(writer.write_at(full.fd(), bytes, 0), ENOSPC);
}

TEST(MemoryWriter, LeavesNothingOfAFailureInItsPipe) {
  const auto bytes = random_bytes(100'000);
  const base::File file = base::make_memfd("written");
  MemoryWriter writer;
  EXPECT_EQ(writer.write_at(-1, bytes, 0), EBADF);
  ASSERT_EQ(writer.write_at(file.fd(), std::span(bytes).subspan(50'000), 0), 0);
  EXPECT_TRUE(std::ranges::equal(content(file, 50'000, 0), std::span(bytes).subspan(50'000)));
}

}  // namespace
}  // namespace transfer
