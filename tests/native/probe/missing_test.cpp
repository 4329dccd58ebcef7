#include "probe/missing.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace probe {
namespace {

using record::State;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(MissingList, SaysEachNameOnce) {
  MissingList missing;
  missing.say("node.a", State::kNotSupported, "first");
  missing.say("node.a", State::kNotPermitted, "second");
  missing.say("node.b", State::kMeasured, "lower bound: always");
  ASSERT_EQ(missing.list().size(), 2U);
  EXPECT_EQ(missing.list()[0].reason, "first");
  EXPECT_GT(missing.list()[0].time_ns, 0);
  EXPECT_EQ(missing.list()[1].time_ns, 0);
}

TEST(MissingList, SaysAgainWhatHappensAgainButNotWithinASecond) {
  MissingList missing;
  for (std::int64_t time_ns = kSecond; time_ns <= 4 * kSecond; time_ns += kSecond / 10) {
    missing.say_again("process", State::kMeasured, "lower bound: a", time_ns);
  }
  ASSERT_EQ(missing.list().size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(missing.list()[i].time_ns, static_cast<std::int64_t>(i + 1) * kSecond);
  }
  missing.say_again("process", State::kMeasured, "lower bound: b", 4 * kSecond);
  missing.say_again("user", State::kMeasured, "lower bound: a", 4 * kSecond);
  EXPECT_EQ(missing.list().size(), 6U);
}

std::size_t count_of(const MissingList& missing, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count(missing.list(), name, &record::Missing::name));
}

TEST(MissingList, SaysItOfTheWholeRecordingWhenItHappensTooOften) {
  MissingList missing;
  const auto say = [&](std::string_view name, int times) {
    for (int i = 1; i <= times; ++i) {
      missing.say_again(name, State::kMeasured, "lower bound: a", i * kSecond);
    }
  };
  say("process", 5000);
  EXPECT_EQ(count_of(missing, "process"), MissingList::kMostOfOne + 1);
  EXPECT_EQ(missing.list().back().time_ns, 0);
  EXPECT_EQ(missing.list().back().state, State::kMeasured);
  say("user", 2);  // there is room for others
  EXPECT_EQ(count_of(missing, "user"), 2U);
  for (const char* name : {"a", "b", "c", "d"}) say(name, 5000);
  EXPECT_LE(missing.list().size(), MissingList::kMost + 10);
  EXPECT_EQ(missing.list().back().name, "d");
  EXPECT_EQ(missing.list().back().time_ns, 0);
  const std::size_t size = missing.list().size();
  missing.say_again("e", State::kNotPermitted, "no lower bound", kSecond);
  EXPECT_EQ(missing.list().size(), size);
  missing.say("e", State::kNotPermitted, "once");
  EXPECT_EQ(missing.list().size(), size + 1);
}

TEST(LowerBoundNote, IsSaidWhenItBeginsAndWhenItIsOver) {
  MissingList missing;
  LowerBoundNote note(missing, {"process.io", "process.storage"}, State::kNotPermitted, "refused");
  const auto set = [&](double second, bool holds) {
    note.set(holds, static_cast<std::int64_t>(second * kSecond));
  };
  set(1, false);
  EXPECT_TRUE(missing.list().empty());
  set(2, true);
  set(3, true);
  ASSERT_EQ(missing.list().size(), 2U);
  EXPECT_EQ(missing.list()[1].name, "process.storage");
  EXPECT_EQ(missing.list()[1].state, State::kNotPermitted);
  EXPECT_EQ(missing.list()[1].reason, "lower bound: refused");
  EXPECT_EQ(missing.list()[1].time_ns, 2 * kSecond);
  set(3.5, false);  // for a moment
  set(3.6, true);
  set(4, false);
  EXPECT_EQ(missing.list().size(), 2U);
  set(4.7, false);
  ASSERT_EQ(missing.list().size(), 4U);
  EXPECT_EQ(missing.list()[3].state, State::kMeasured);
  EXPECT_EQ(missing.list()[3].reason, "");
  set(9, true);
  EXPECT_EQ(missing.list().size(), 6U);
}

TEST(LowerBoundNote, IsAboutTheWholeRecordingWhenTheListIsFull) {
  MissingList missing;
  LowerBoundNote note(missing, {"process.io"}, State::kNotPermitted, "refused");
  for (std::int64_t second = 1; second < 5000; ++second) {
    note.set(second % 3 == 0, second * kSecond);
  }
  const auto& last = missing.list().back();
  EXPECT_EQ(last.time_ns, 0);
  EXPECT_EQ(last.state, State::kMeasured);
  EXPECT_EQ(last.reason, "lower bound: refused");
}

}  // namespace
}  // namespace probe
