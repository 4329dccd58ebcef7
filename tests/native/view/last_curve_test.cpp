#include "view/last_curve.hpp"

#include <gtest/gtest.h>

#include "store/synthetic.hpp"

namespace view {
namespace {

using namespace synthetic;

// A cell from 100 s on whose memory grows by 10 MiB a second, and dies 5 s later.
Recorder grown() {
  Recorder recorder;
  recorder.edge(kStart - 20 * kSecond);
  recorder.add(cell_begin(kStart, kStart));
  for (int second = 0; second <= 5; ++second) {
    recorder.set({{"process.memory_bytes", (100 + 10 * second) * kMiB}});
    recorder.edge(kStart + second * kSecond);
  }
  return recorder;
}

std::string curve(const store::Recording& recording) {
  return last_curve(recording, store::ending_of(recording));
}

TEST(LastCurve, GoesOverTheCellThatRan) {
  Recorder recorder = grown();
  recorder.add(record::End{kStart + 5 * kSecond, record::EndCause::kKilled, 9});
  const std::string text = curve(recorder.open());
  EXPECT_TRUE(text.starts_with("▆")) << text;
  EXPECT_NE(text.find("█  150 MiB in the last 5 s, max 150 MiB"), text.npos) << text;
}

TEST(LastCurve, IsThereWhereTheSamplerDiedToo) {
  EXPECT_NE(curve(grown().open()).find("max 150 MiB"), std::string::npos);
}

TEST(LastCurve, IsNoneWhereNothingIsWrongOrNothingWasMeasured) {
  Recorder closed = grown();
  closed.add(record::End{kStart + 5 * kSecond});
  EXPECT_EQ(curve(closed.open()), "");
  Recorder empty;
  empty.add(record::End{kStart, record::EndCause::kKilled, 9});
  EXPECT_EQ(curve(empty.open()), "");
}

}  // namespace
}  // namespace view
