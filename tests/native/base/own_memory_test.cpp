#include "base/own_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

namespace base {
namespace {

constexpr std::size_t kPage = 4096;

TEST(OwnMemory, IsCopied) {
  const std::array<char, 6> there{"stack"};
  std::array<char, 6> copy{};
  ASSERT_TRUE(copy_own_memory(reinterpret_cast<std::uintptr_t>(there.data()), copy.data(), 6));
  EXPECT_STREQ(copy.data(), "stack");
}

TEST(OwnMemory, ThatIsNotThereIsNoCrash) {
  std::array<char, 16> copy{};
  constexpr auto kMost = std::numeric_limits<std::uintptr_t>::max();
  for (const std::uintptr_t address :
       {std::uintptr_t{0}, std::uintptr_t{8}, kMost - 4, kMost / 2}) {
    EXPECT_FALSE(copy_own_memory(address, copy.data(), copy.size())) << address;
    EXPECT_EQ(errno, EFAULT) << address;
  }
}

TEST(OwnMemory, IsAllThereOrNothing) {
  auto* pages = static_cast<char*>(
      ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(::mprotect(pages + kPage, kPage, PROT_NONE), 0);
  std::array<char, 16> copy{};
  const auto end = reinterpret_cast<std::uintptr_t>(pages + kPage);
  EXPECT_TRUE(copy_own_memory(end - copy.size(), copy.data(), copy.size()));
  EXPECT_FALSE(copy_own_memory(end - 1, copy.data(), copy.size()));
  EXPECT_EQ(errno, EFAULT);
  EXPECT_FALSE(copy_own_memory(end, copy.data(), copy.size()));
  ::munmap(pages, 2 * kPage);
}

}  // namespace
}  // namespace base
