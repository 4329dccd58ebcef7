#include "probe/account.hpp"

#include <gtest/gtest.h>

namespace probe {
namespace {

TEST(Inherited, TakesWhatTheCounterHasRoomFor) {
  Inherited counter;
  counter.see(100);
  counter.begin_tick();
  EXPECT_EQ(counter.inherit(50, 160), 0);
  EXPECT_EQ(counter.waited, 150);
  counter.see(152);  // the child had used two more before it ended
  EXPECT_EQ(counter.waited, 152);
}

TEST(Inherited, KeepsASumThatIsCutToTicksFromFalling) {
  Inherited counter;
  counter.see(0);
  EXPECT_EQ(counter.inherit(9 * kTickNs / 10, kChildrenSlackNs), 0);
  counter.see(0);  // two fields, each cut
  EXPECT_EQ(counter.waited, 9 * kTickNs / 10);
}

TEST(Inherited, AddsNothingToACounterThatHoldsThemAlready) {
  Inherited counter;
  counter.see(100);
  counter.begin_tick();
  counter.see(153);
  EXPECT_EQ(counter.inherit(50, 153), 0);
  EXPECT_EQ(counter.waited, 153);
}

TEST(Inherited, GivesBackWhatHasNoRoom) {
  Inherited counter;
  counter.see(100);
  counter.begin_tick();
  EXPECT_EQ(counter.inherit(50, 120), 30);
  EXPECT_EQ(counter.waited, 120);
}

TEST(Inherited, NeverLosesWhatWasThereBefore) {
  Inherited counter;
  counter.see(100);
  counter.begin_tick();
  EXPECT_EQ(counter.inherit(50, 80), 50);
  EXPECT_EQ(counter.waited, 100);
}

TEST(Inherited, TakesAllWhenTheCounterCannotBeRead) {
  Inherited counter;
  EXPECT_EQ(counter.inherit(50, std::nullopt), 0);
  EXPECT_EQ(counter.waited, 50);
}

// Whoever waits for whom: waited + lost grows by exactly what was seen of the ended children as
// long as nothing unseen comes in.
TEST(Inherited, NeitherForgetsNorDoublesWhatWasSeen) {
  Inherited counter;
  std::int64_t truth_waited = 0;  // in the counter
  std::int64_t seen = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t amount = (i * 7919) % 50 * kTickNs / 10;
    if (i % 3 != 0) truth_waited += amount;  // every third child isn't waited for
    seen += amount;
    const std::int64_t shown = truth_waited / kTickNs * kTickNs;
    counter.begin_tick();
    if (i % 2 == 0) counter.see(shown);  // read before or after they ended
    counter.lose(counter.inherit(amount, shown + kChildrenSlackNs));
    EXPECT_EQ(counter.waited + counter.lost, seen);
    EXPECT_LE(counter.lost, seen - truth_waited);
  }
}

TEST(Amounts, StayBoundedInAHostileTree) {
  Amounts sum;
  const Amounts most{kMostNumber, {kMostNumber, kMostNumber, 0, 0, 0, 0}};
  for (int i = 0; i < 100; ++i) sum += most;
  EXPECT_EQ(sum, most);
}

}  // namespace
}  // namespace probe
