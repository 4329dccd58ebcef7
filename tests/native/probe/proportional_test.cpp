#include "probe/proportional.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "actor.hpp"
#include "host_tree.hpp"
#include "probe/memory.hpp"
#include "probe/process.hpp"

namespace probe {
namespace {

constexpr std::size_t kShared = 64 << 20;

std::int64_t start_ticks_of(pid_t pid) {
  std::vector<char> buffer(4096);
  const ProcDirectory proc("/");
  const auto process = Process::open(pid, Reading{&proc, buffer, false, 0});
  return process ? process->start_ticks() : -1;
}

const Proportional::Measurement& measure(Proportional& proportional) {
  proportional.start();
  EXPECT_TRUE(eventually([&] { return proportional.finished() != nullptr; }));
  return *proportional.finished();
}

TEST(Proportional, DividesWhatIsSharedWithAChild) {
  const Actor actor([](const Cue& cue) {
    occupy(kShared);
    const pid_t pid = child([&] { cue.stay(); });
    cue.tell(pid);
    cue.stay();
  });
  const auto pid = static_cast<pid_t>(actor.heard());
  Proportional proportional("/");
  auto* list = proportional.idle_list();
  ASSERT_NE(list, nullptr);
  list->sizes = {{actor.pid(), start_ticks_of(actor.pid()), 0, 0, record::State::kNotYet},
                 {pid, start_ticks_of(pid), 0, 0, record::State::kNotYet}};
  const auto& measurement = measure(proportional);
  for (const auto& size : measurement.sizes) {
    EXPECT_EQ(size.state, record::State::kMeasured);
    EXPECT_GE(size.resident_bytes, static_cast<std::int64_t>(kShared));
    EXPECT_GE(size.proportional_bytes, static_cast<std::int64_t>(kShared / 2));
    EXPECT_LE(size.proportional_bytes,
              size.resident_bytes - static_cast<std::int64_t>(kShared / 3));
  }
  EXPECT_GE(measurement.end_ns, measurement.begin_ns);
  EXPECT_EQ(proportional.idle_list(), nullptr);
  proportional.done_with();
  EXPECT_NE(proportional.idle_list(), nullptr);
}

// What it shares is little and stays the same, however large it is when it is looked at.
TEST(Proportional, ComparesSizesOfOneMomentWhileAProcessGrows) {
  const Actor actor([](const Cue& cue) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
    void* memory = ::mmap(nullptr, kShared, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    ::madvise(memory, kShared, MADV_NOHUGEPAGE);
    cue.tell(0);
    for (;;) {
      for (std::size_t at = 0; at < kShared; at += 4096)
        static_cast<volatile char*>(memory)[at] = 1;
      ::madvise(memory, kShared, MADV_DONTNEED);
    }
  });
  actor.heard();
  const std::int64_t start_ticks = start_ticks_of(actor.pid());
  Proportional proportional("/");
  constexpr std::int64_t kMostSharedBytes = 32 << 20;  // program, libraries, a sanitizer's own
  for (int i = 0; i < 200; ++i) {
    proportional.idle_list()->sizes.assign(
        1, {actor.pid(), start_ticks, 0, 0, record::State::kNotYet});
    const auto size = measure(proportional).sizes[0];
    ASSERT_EQ(size.state, record::State::kMeasured);
    EXPECT_GE(size.resident_bytes, size.proportional_bytes);
    EXPECT_LE(size.resident_bytes - size.proportional_bytes, kMostSharedBytes);
    proportional.done_with();
  }
}

TEST(Proportional, CallsWhoHasEndedOrIsAnotherVanished) {
  Proportional proportional("/");
  proportional.idle_list()->sizes = {
      {0x3fffffff, 1, 0, 0, record::State::kNotYet},
      {::getpid(), start_ticks_of(::getpid()) + 1, 0, 0, record::State::kNotYet}};
  for (const auto& size : measure(proportional).sizes) {
    EXPECT_EQ(size.state, record::State::kVanished);
  }
}

TEST(Proportional, KnowsKernelsThatHaveNoSuchFile) {
  const HostTree host;
  host.write_process(20, 1);
  Proportional proportional(host.root());
  proportional.idle_list()->sizes = {{20, 500, 0, 0, record::State::kNotYet}};
  EXPECT_EQ(measure(proportional).sizes[0].state, record::State::kNotSupported);
}

TEST(Proportional, KnowsWhatIsSwappedOutWhereItIsSaid) {
  const auto swap_of = [](const std::string& lines) {
    const auto sizes = parse_smaps_rollup("Rss: 12 kB\nPss: 8 kB\n" + lines);
    return sizes ? sizes->swap_bytes : -99;
  };
  EXPECT_EQ(swap_of("Swap:   8 kB\nSwapPss:   5 kB\nLocked: 0 kB\n"), 5 * 1024);
  EXPECT_EQ(swap_of("SwapPss:   5 kB\nSwap:   8 kB\n"), 5 * 1024);
  EXPECT_EQ(swap_of("Swap:   8 kB\n"), 8 * 1024);
  EXPECT_EQ(swap_of(""), record::unknown(record::State::kNotSupported));
  const HostTree host;
  host.write_process(20, 1);
  host.write("proc/20/smaps_rollup", "Rss: 12 kB\nPss: 8 kB\nSwapPss: 3 kB\n");
  Proportional proportional(host.root());
  proportional.idle_list()->sizes = {{20, 500, 0, 0, record::State::kNotYet}};
  EXPECT_EQ(measure(proportional).sizes[0].swap_bytes, 3 * 1024);
}

TEST(Proportional, MeasuresAgainAndAgain) {
  Proportional proportional("/");
  for (int i = 0; i < 100; ++i) {
    auto* list = proportional.idle_list();
    ASSERT_NE(list, nullptr);
    list->sizes.assign(1, {::getpid(), start_ticks_of(::getpid()), 0, 0, record::State::kNotYet});
    EXPECT_GT(measure(proportional).sizes[0].proportional_bytes, 0);
    proportional.done_with();
  }
}

TEST(Proportional, EndsAtOnceAlsoInTheMiddleOfALongList) {
  for (int i = 0; i < 50; ++i) {
    Proportional proportional("/");
    proportional.idle_list()->sizes.assign(i % 2 == 0 ? 0 : 10'000,
                                           {::getpid(), start_ticks_of(::getpid()), 0, 0, {}});
    if (i % 3 != 0) proportional.start();
  }
}

}  // namespace
}  // namespace probe
