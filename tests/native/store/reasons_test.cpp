#include "store/reasons.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;
using record::State;

std::string recorded(const std::vector<record::Missing>& missing, std::string_view metric,
                     std::int64_t time_ns = 100) {
  Recorder recorder;
  for (const record::Missing& one : missing) recorder.add(one);
  const Recording recording = recorder.open();
  return Reasons(recording, time_ns, time_ns).recorded("node", metric).value_or("none");
}

TEST(Reasons, AreFoundByMetricFamilyAndLevel) {
  for (const std::string name : {"node.io_read_bytes", "node.io_*", "node.io", "node", "node.*"}) {
    EXPECT_EQ(recorded({{1, name, State::kNotPermitted, "why"}}, "io_read_bytes"),
              "not permitted: why")
        << name;
  }
  for (const std::string name : {"node.io_write_bytes", "node.i", "nod", "nodes.io", "process.io",
                                 "node.io_read_bytes_more"}) {
    EXPECT_EQ(recorded({{1, name, State::kNotPermitted, "why"}}, "io_read_bytes"), "none") << name;
  }
}

TEST(Reasons, AreTheNewestUpToThen) {
  const std::vector<record::Missing> missing{{10, "node.io", State::kNotYet, "first"},
                                             {20, "node.io", State::kVanished, "second"},
                                             {30, "node.io", State::kMeasured, ""}};
  EXPECT_EQ(recorded(missing, "io_read_ops", 5), "none");
  EXPECT_EQ(recorded(missing, "io_read_ops", 15), "not yet: first");
  EXPECT_EQ(recorded(missing, "io_read_ops", 25), "vanished: second");
  EXPECT_EQ(recorded(missing, "io_read_ops", 35), "none");
}

// Of level `process`, in a cell from begin_ns to end_ns.
std::string bound(const std::vector<record::Missing>& missing, std::int64_t begin_ns,
                  std::int64_t end_ns, std::string_view metric = "cpu_time_ns") {
  Recorder recorder;
  for (const record::Missing& one : missing) recorder.add(one);
  const Recording recording = recorder.open();
  return Reasons(recording, begin_ns, end_ns).bound("process", metric).value_or("none");
}

TEST(Reasons, OfALowerBoundConcernTheCellsAroundItsTime) {
  const std::vector<record::Missing> missing{
      {10 * kSecond, "process", State::kMeasured, "lower bound: first"},
      {20 * kSecond, "process.io", State::kMeasured, "lower bound: second"}};
  EXPECT_EQ(bound(missing, 2 * kSecond, 8 * kSecond), "none");
  EXPECT_EQ(bound(missing, 2 * kSecond, 9500 * kMs), "lower bound: first");
  EXPECT_EQ(bound(missing, 2 * kSecond, 30 * kSecond), "lower bound: first");
  EXPECT_EQ(bound(missing, 10500 * kMs, 30 * kSecond), "lower bound: first");
  EXPECT_EQ(bound(missing, 12 * kSecond, 30 * kSecond), "none");
  EXPECT_EQ(bound(missing, 12 * kSecond, 30 * kSecond, "io_read_ops"), "lower bound: second");
  EXPECT_EQ(bound(missing, 2 * kSecond, 30 * kSecond, "io_read_ops"), "lower bound: second");
}

TEST(Reasons, OfALowerBoundWithoutATimeConcernEveryCell) {
  const std::vector<record::Missing> missing{
      {0, "process", State::kMeasured, "lower bound: always"},
      {90 * kSecond, "process", State::kMeasured, "lower bound: too"}};
  EXPECT_EQ(bound(missing, 2 * kSecond, 8 * kSecond), "lower bound: always");
  EXPECT_EQ(bound(missing, 100 * kSecond, 101 * kSecond), "lower bound: always");
}

TEST(Reasons, OfALowerBoundThatLastsConcernCellsUntilItIsOver) {
  const std::vector<record::Missing> missing{
      {10 * kSecond, "process.io", State::kNotPermitted, "lower bound: lasts"},
      {12 * kSecond, "process.io_read_ops", State::kMeasured, ""},  // another name
      {20 * kSecond, "process.io", State::kMeasured, ""},
      {40 * kSecond, "process.io", State::kNotPermitted, "lower bound: again"}};
  const auto at = [&](std::int64_t begin_s, std::int64_t end_s) {
    return bound(missing, begin_s * kSecond, end_s * kSecond, "io_read_ops");
  };
  EXPECT_EQ(at(2, 8), "none");
  EXPECT_EQ(at(2, 10), "lower bound: lasts");
  EXPECT_EQ(at(14, 16), "lower bound: lasts");
  EXPECT_EQ(at(19, 30), "lower bound: lasts");
  EXPECT_EQ(at(21, 30), "none");
  EXPECT_EQ(at(50, 60), "lower bound: again");
  EXPECT_EQ(at(2, 60), "lower bound: again");
}

TEST(Reasons, OfALowerBoundAreNotWhyAValueIsMissing) {
  const std::vector<record::Missing> missing{
      {10, "node.io_read_bytes", State::kNotPermitted, "why"},
      {20, "node.io", State::kNotPermitted, "lower bound: lasts"},
      {30, "node", State::kMeasured, "lower bound: once"},
      {40, "node.io", State::kMeasured, ""}};  // ends the lower bound and nothing else
  EXPECT_EQ(recorded(missing, "io_read_bytes", 50), "not permitted: why");
  EXPECT_EQ(recorded(missing, "io_write_bytes", 50), "none");
}

TEST(Reasons, StandHostileTimes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t time_ns : {kMost, kLeast, kMost - 1}) {
    const std::vector<record::Missing> missing{
        {time_ns, "process", State::kMeasured, "lower bound: x"}};
    bound(missing, kLeast, kMost);
    bound(missing, kMost, kMost);
    bound(missing, kLeast, kLeast);
  }
}

TEST(Reasons, AreNeverEmpty) {
  EXPECT_EQ(recorded({{1, "node.io", State::kNotSupported, ""}}, "io_read_ops"),
            "not supported: no reason was recorded");
}

}  // namespace
}  // namespace store
