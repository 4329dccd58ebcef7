#include "probe/device_sum.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>

#include "allocations.hpp"

namespace probe {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Lines of a name and two numbers; rank by the name's first letter: "x…" never counts, "A…" is
// above the others.
std::optional<DeviceLine<2>> parse(std::string_view line) noexcept {
  Scanner words(line);
  DeviceLine<2> found;
  found.name = words.word();
  for (auto& count : found.counts) {
    const auto number = words.number();
    if (!number) return std::nullopt;
    count = *number;
  }
  return found;
}

std::uint8_t rank_of(std::string_view name) {
  return name.starts_with('x') ? 0 : name.starts_with('A') ? 2 : 1;
}

struct Sum {
  explicit Sum(std::string_view text) { sum.start(text, parse, rank_of); }
  std::array<std::int64_t, 2> take(std::string_view text) {
    now_ns += kSecondNs;
    sum.take(text, now_ns, parse, rank_of);
    return sum.totals();
  }
  DeviceSum<2> sum;
  std::int64_t now_ns = kSecondNs;
};

using Totals = std::array<std::int64_t, 2>;

TEST(DeviceSum, AddsUpThoseThatCount) {
  Sum sum("a 1 10\nxb 5 50\nc 2 20\n");
  EXPECT_EQ(sum.sum.totals(), (Totals{3, 30}));
  EXPECT_EQ(sum.take("a 2 12\nxb 500 5000\nc 2 25\n"), (Totals{4, 37}));
}

TEST(DeviceSum, KeepsWhatAVanishedDeviceHadCounted) {
  Sum sum("a 100 10\nc 2 20\n");
  EXPECT_EQ(sum.take("c 3 20\n"), (Totals{103, 30}));
  EXPECT_EQ(sum.take(""), (Totals{103, 30}));
}

TEST(DeviceSum, GoesOnWithADeviceThatComesBackAsItWas) {
  Sum sum("a 100 10\n");
  sum.take("");
  EXPECT_EQ(sum.take("a 105 10\n"), (Totals{105, 10}));
}

TEST(DeviceSum, BeginsAnewWithADeviceThatComesBackSmaller) {
  Sum sum("a 100 10\n");
  sum.take("");
  EXPECT_EQ(sum.take("a 90 0\n"), (Totals{190, 10}));
  EXPECT_EQ(sum.take("a 91 3\n"), (Totals{191, 13}));
}

TEST(DeviceSum, TakesAFallToLessThanHalfForAReset) {
  Sum sum("a 4294967290 10\n");
  EXPECT_EQ(sum.take("a 5 10\n"), (Totals{4294967295, 10}));
  EXPECT_EQ(sum.take("a 6 11\n"), (Totals{4294967296, 11}));
}

TEST(DeviceSum, TakesASmallerFallForAnErrorOfTheDriver) {
  Sum sum("a 1000000 10\n");
  EXPECT_EQ(sum.take("a 999999 10\n"), (Totals{1000000, 10}));
  EXPECT_EQ(sum.take("a 1000001 10\n"), (Totals{1000001, 10}));
}

TEST(DeviceSum, CountsANewDeviceFromWhenItWasSeenFirst) {
  Sum sum("a 1 1\n");
  EXPECT_EQ(sum.take("a 1 1\nb 1000 1000\n"), (Totals{1, 1}));
  EXPECT_EQ(sum.take("a 1 1\nb 1001 1002\n"), (Totals{2, 3}));
}

TEST(DeviceSum, LooksForNewDevicesOnceASecond) {
  int looks = 0;
  const auto rank = [&](std::string_view /*name*/) -> std::uint8_t { return ++looks > 0 ? 1 : 0; };
  DeviceSum<2> sum;
  sum.start("a 1 1\n", parse, rank);
  sum.take("a 1 1\nb 1 1\n", kSecondNs, parse, rank);
  EXPECT_EQ(looks, 3);  // of a for the second time
  sum.take("a 1 1\nb 1 1\nc 1 1\n", kSecondNs + kSecondNs / 2, parse, rank);
  EXPECT_EQ(looks, 3);
  sum.take("a 1 1\nb 1 1\nc 1 1\n", 2 * kSecondNs, parse, rank);
  EXPECT_EQ(looks, 5);
}

TEST(DeviceSum, LooksAgainLaterBecauseOthersMayJoinADevice) {
  bool stacked = false;
  const auto rank = [&](std::string_view name) -> std::uint8_t {
    return name == "b" && stacked ? 0 : 1;
  };
  DeviceSum<2> sum;
  sum.start("a 1 1\nb 1 1\n", parse, rank);
  stacked = true;
  sum.take("a 2 1\nb 2 1\n", kSecondNs, parse, rank);
  EXPECT_EQ(sum.totals()[0], 4);
  sum.take("a 2 1\nb 2 1\n", 11 * kSecondNs, parse, rank);
  sum.take("a 3 1\nb 1000 1\n", 12 * kSecondNs, parse, rank);
  EXPECT_EQ(sum.totals()[0], 5);
}

TEST(DeviceSum, CountsOnlyThoseOfTheHighestRankAlsoWhileTheyAreGone) {
  Sum sum("A 10 10\nb 5 5\n");
  EXPECT_EQ(sum.sum.totals(), (Totals{10, 10}));
  EXPECT_EQ(sum.take("b 6 6\nnew 1 1\n"), (Totals{10, 10}));
  EXPECT_EQ(sum.take("b 7 7\nnew 2 2\n"), (Totals{10, 10}));
  EXPECT_EQ(sum.take("A 11 11\nb 8 8\nnew 2 2\n"), (Totals{11, 11}));
}

TEST(DeviceSum, TakesTheFirstOfTwoLinesWithOneName) {
  Sum sum("a 1000000 1\n");
  EXPECT_EQ(sum.take("a 1000001 1\na 5 1\n"), (Totals{1000001, 1}));
  EXPECT_EQ(sum.take("a 1000002 1\na 6 1\n"), (Totals{1000002, 1}));
}

TEST(DeviceSum, StaysBoundedWhateverIsListed) {
  std::string text = std::string(32, 'n') + " 5 5\n";
  for (int i = 0; i < 6000; ++i) text += "d" + std::to_string(i) + " 1 1\n";
  Sum sum(text);
  EXPECT_EQ(sum.sum.devices().size(), DeviceSum<2>::kMostDevices);
  EXPECT_EQ(sum.sum.totals(), (Totals{4096, 4096}));
  const std::string most = std::to_string(kMostNumber);
  EXPECT_EQ(sum.take("d1 " + most + " " + most + "\nd2 " + most + " 1\n"),
            (Totals{kMostNumber, kMostNumber}));
  // Places of those that are gone are given to new ones.
  EXPECT_EQ(sum.take("other 1 1\n"), (Totals{kMostNumber, kMostNumber}));
  EXPECT_EQ(sum.sum.devices().size(), DeviceSum<2>::kMostDevices);
}

TEST(DeviceSum, AllocatesNothingWhileNothingIsNew) {
  Sum sum("a 1 1\nb 2 2\n");
  const std::int64_t before = allocations();
  for (int i = 0; i < 50; ++i) sum.take(i % 3 == 0 ? "b 3 3\n" : "b 4 4\na 5 5\n");
  EXPECT_EQ(allocations(), before);
}

// Devices that grow, fall, run over, vanish and come back in any order.
TEST(DeviceSum, NeverFallsWhateverDevicesDo) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t end) { return static_cast<std::int64_t>(random() % end); };
    std::map<std::string, Totals> devices;
    const auto text = [&] {
      std::string lines;
      for (const auto& [name, counts] : devices) {
        if (below(5) == 0) continue;  // it isn't there this time
        lines += name + " " + std::to_string(counts[0]) + " " + std::to_string(counts[1]) + "\n";
      }
      return below(20) == 0 ? lines.substr(0, random() % (lines.size() + 1)) : lines;
    };
    for (int i = 0; i < 4; ++i) devices["d" + std::to_string(i)] = {below(1U << 30), below(9)};
    Sum sum(text());
    Totals before = sum.sum.totals();
    for (int step = 0; step < 40; ++step) {
      for (auto& [name, counts] : devices) {
        for (auto& count : counts) {
          switch (below(8)) {
            case 0:
              count = below(1000);
              break;
            case 1:
              count = std::max<std::int64_t>(count - below(50), 0);
              break;
            case 2:
              count = (count + below(1ULL << 33)) % (1LL << 32);
              break;
            case 3:
              count = below(1ULL << 61);  // also larger than a counter can be
              break;
            default:
              count = std::min(count + below(100'000), kMostNumber);
          }
        }
      }
      if (below(10) == 0) devices["Ax"[below(2)] + std::to_string(step)] = {below(99), below(99)};
      if (below(10) == 0 && devices.size() > 1) devices.erase(devices.begin());
      const Totals now = sum.take(text());
      for (std::size_t i = 0; i < now.size(); ++i) {
        ASSERT_GE(now[i], before[i]) << "seed " << seed << ", step " << step;
        ASSERT_GE(now[i], 0);
        ASSERT_LE(now[i], kMostNumber);
      }
      before = now;
    }
  }
}

// The same where counters only grow: then nothing is lost and nothing is counted twice.
TEST(DeviceSum, IsTheSumOfAllGrowthWhenDevicesOnlyComeAndGo) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::array<std::int64_t, 6> counts{};
    const auto text = [&](bool all) {
      std::string lines;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        if (!all && random() % 3 == 0) continue;
        lines += "d" + std::to_string(i) + " " + std::to_string(counts[i]) + " 0\n";
      }
      return lines;
    };
    for (auto& count : counts) count = static_cast<std::int64_t>(random() % 1'000'000);
    Sum sum(text(true));
    for (int step = 0; step < 50; ++step) {
      for (auto& count : counts) count += static_cast<std::int64_t>(random() % 1000);
      sum.take(text(false));
    }
    std::int64_t all = 0;
    for (const auto count : counts) all += count;
    ASSERT_EQ(sum.take(text(true))[0], all) << "seed " << seed;
  }
}

}  // namespace
}  // namespace probe
