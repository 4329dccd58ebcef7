#include "transfer/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <utility>

#include "process_state.hpp"

namespace transfer {
namespace {

TEST(ForSlices, DoesEachByteOnceWhateverTheSizesAndThreads) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::size_t> sizes(random() % 12);
    for (std::size_t& size : sizes) {
      const auto bits = static_cast<unsigned>(random() % 26);
      size = random() % 4 == 0 ? 0 : random() % (std::size_t{1} << bits);
    }
    std::mutex mutex;
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> done(sizes.size());
    const int threads = static_cast<int>(random() % 5);
    ASSERT_EQ(for_slices(sizes, threads,
                         [&](std::size_t item, std::size_t begin, std::size_t size) {
                           const std::lock_guard lock(mutex);
                           EXPECT_GT(size, 0U);
                           done.at(item).emplace_back(begin, size);
                           return 0;
                         }),
              0);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::ranges::sort(done[i]);
      std::size_t end = 0;
      for (const auto& [begin, size] : done[i]) {
        EXPECT_EQ(begin, end);
        end = begin + size;
      }
      EXPECT_EQ(end, sizes[i]);
    }
  }
}

TEST(ForSlices, StopsAtTheFirstFailureAndSaysWhich) {
  const std::vector<std::size_t> sizes(10, std::size_t{20} << 20);
  int calls = 0;
  EXPECT_EQ(
      for_slices(sizes, 1,
                 [&](std::size_t, std::size_t, std::size_t) { return ++calls == 4 ? ENOSPC : 0; }),
      ENOSPC);
  EXPECT_EQ(calls, 4);
}

TEST(ForSlices, BlocksSignalsWhileItWorksAndNotAfterwards) {
  const std::vector<std::size_t> sizes(4, std::size_t{20} << 20);
  for_slices(sizes, 2, [](std::size_t, std::size_t, std::size_t) {
    sigset_t now;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    EXPECT_EQ(::sigismember(&now, SIGINT), 1);
    EXPECT_EQ(::sigismember(&now, SIGPROF), 1);
    return 0;
  });
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGINT), 0);
}

TEST(CopyAll, CopiesLargeAndSmallAndNothing) {
  std::mt19937 random(2);
  std::vector<std::vector<std::byte>> from;
  std::vector<std::vector<std::byte>> to;
  std::vector<Copy> copies;
  for (const std::size_t size : {0U, 1U, 100U, 40U << 20, 0U, 5U, 1U << 20}) {
    from.push_back(random_bytes(size, random));
    to.emplace_back(size);
    copies.push_back({to.back().data(), from.back().data(), size});
  }
  copy_all(copies, 3);
  EXPECT_EQ(to, from);
}

}  // namespace
}  // namespace transfer
