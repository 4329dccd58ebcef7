#include "store/curve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsNan;
using ::testing::SizeIs;

constexpr double kNear = 1e-6;
constexpr auto kUnknown = record::unknown(record::State::kVanished);

auto near(double value) { return DoubleNear(value, kNear); }

TEST(Curve, OfAGaugeIsTheHighestInEachPart) {
  Recorder recorder;
  for (std::int64_t i = 0; i <= 20; ++i) {
    recorder.row(kStart + i * 100 * kMs, {{"process.memory_bytes", i % 5 == 3 ? 1000 + i : i}});
  }
  EXPECT_THAT(curve_of(recorder.open(), "process.memory_bytes", kStart, kStart + 2 * kSecond, 4),
              ElementsAre(1003, 1008, 1013, 1018));
}

TEST(Curve, OfAGaugeHoldsItsValueUntilTheNextSample) {
  Recorder recorder;
  recorder.row(kStart - 50 * kMs, {{"process.threads", 1}});
  recorder.row(kStart + 150 * kMs, {{"process.threads", 7}});
  recorder.row(kStart + 350 * kMs, {{"process.threads", 3}});
  EXPECT_THAT(curve_of(recorder.open(), "process.threads", kStart, kStart + 300 * kMs, 6),
              ElementsAre(1, 1, 1, 7, 7, 7));
}

TEST(Curve, OfACounterIsItsMeanRateASecond) {
  Recorder recorder;
  recorder.row(kStart, {{"process.io_read_bytes", 500}});
  recorder.row(kStart + 100 * kMs, {{"process.io_read_bytes", 600}});
  recorder.row(kStart + 200 * kMs, {{"process.io_read_bytes", 1000}});
  recorder.row(kStart + 400 * kMs, {{"process.io_read_bytes", 1000}});
  const Recording recording = recorder.open();
  EXPECT_THAT(curve_of(recording, "process.io_read_bytes", kStart, kStart + 400 * kMs, 4),
              ElementsAre(near(1000), near(4000), near(0), near(0)));
  EXPECT_THAT(curve_of(recording, "process.io_read_bytes", kStart, kStart + 400 * kMs, 1),
              ElementsAre(near(1250)));
  // Narrower than the samples: each part has the rate around it.
  EXPECT_THAT(
      curve_of(recording, "process.io_read_bytes", kStart + 50 * kMs, kStart + 150 * kMs, 4),
      ElementsAre(near(1000), near(1000), near(4000), near(4000)));
}

TEST(Curve, TakesSamplesJustOutsideTheWindow) {
  Recorder recorder;
  recorder.row(kStart - 100 * kMs, {{"process.cpu_time_ns", 0}});
  recorder.row(kStart + 100 * kMs, {{"process.cpu_time_ns", 100 * kMs}});
  EXPECT_THAT(curve_of(recorder.open(), "process.cpu_time_ns", kStart, kStart + 50 * kMs, 1),
              ElementsAre(near(0.5e9)));
}

TEST(Curve, IsUnknownWhereNothingWasMeasured) {
  Recorder recorder;
  recorder.add(gap(kStart + 200 * kMs, kStart + 300 * kMs));
  for (std::int64_t i = 1; i <= 6; ++i) {
    recorder.row(kStart + i * 100 * kMs, {{"process.io_read_bytes", i == 5 ? kUnknown : 10 * i},
                                          {"process.memory_bytes", i == 5 ? kUnknown : i}});
  }
  const Recording recording = recorder.open();
  // Before the first sample, in the gap, around the unknown value.
  EXPECT_THAT(curve_of(recording, "process.io_read_bytes", kStart, kStart + 600 * kMs, 6),
              ElementsAre(IsNan(), near(100), IsNan(), near(100), IsNan(), IsNan()));
  EXPECT_THAT(curve_of(recording, "process.memory_bytes", kStart, kStart + 600 * kMs, 6),
              ElementsAre(IsNan(), 1, 2, 3, 4, 6));
}

TEST(Curve, IsUnknownWhereACounterBeganAnew) {
  Recorder recorder;
  const std::vector<std::int64_t> cpu_ms{5000, 5050, 20, 40, 35, 50};
  for (std::size_t i = 0; i < cpu_ms.size(); ++i) {
    recorder.row(kStart + static_cast<std::int64_t>(i) * 100 * kMs,
                 {{"process.cpu_time_ns", cpu_ms[i] * kMs}});
  }
  // 5 ms less is rounding: nothing was used there, and the total stays.
  EXPECT_THAT(curve_of(recorder.open(), "process.cpu_time_ns", kStart, kStart + 500 * kMs, 5),
              ElementsAre(near(0.5e9), IsNan(), near(0.2e9), near(0), near(0.1e9)));
}

TEST(Curve, FollowsAColumnThroughSchemas) {
  Recorder recorder;
  recorder.row(kStart, {{"process.threads", 1}});
  recorder.schema({"node.threads", "process.threads"});
  recorder.row(kStart + 100 * kMs, {{"process.threads", 2}});
  recorder.schema({"node.threads"});
  recorder.row(kStart + 200 * kMs);
  EXPECT_THAT(curve_of(recorder.open(), "process.threads", kStart, kStart + 300 * kMs, 3),
              ElementsAre(1, 2, IsNan()));
}

TEST(Curve, OfNothingIsUnknown) {
  Recorder recorder;
  const Recording empty = recorder.open();
  EXPECT_THAT(curve_of(empty, "process.threads", kStart, kStart + kSecond, 2),
              ElementsAre(IsNan(), IsNan()));
  recorder.row(kStart);
  const Recording recording = recorder.open();
  EXPECT_THAT(curve_of(recording, "process.nonsense", kStart, kStart + 1, 1), ElementsAre(IsNan()));
  EXPECT_THAT(curve_of(recording, "process.threads", kStart, kStart, 1), ElementsAre(IsNan()));
  EXPECT_THAT(curve_of(recording, "process.threads", kStart, kStart + 1, 0), SizeIs(0));
}

TEST(Curve, IsReadWithWindowsOfAnySize) {
  Recorder recorder;
  recorder.row(kStart, {{"process.threads", 3}, {"process.io_read_bytes", 0}});
  recorder.row(kStart + 100 * kMs, {{"process.io_read_bytes", 100}});
  const Recording recording = recorder.open();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(curve_of(recording, "process.threads", 0, kMost, 1), ElementsAre(3));
  EXPECT_THAT(curve_of(recording, "process.io_read_bytes", 0, kMost, 1), ElementsAre(near(1000)));
  for (const double one : curve_of(recording, "process.io_read_bytes", kStart, kStart + 1, 1000)) {
    EXPECT_NEAR(one, 1000, 1);
  }
}

}  // namespace
}  // namespace store
