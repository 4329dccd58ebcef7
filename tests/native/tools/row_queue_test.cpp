#include "tools/row_queue.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace tools {
namespace {

TEST(RowQueue, HandsOverEverythingInOrderBetweenTwoThreads) {
  constexpr std::int64_t kItems = 100'000;
  RowQueue queue(8, 2);
  std::thread consumer([&queue] {
    for (std::int64_t expected = 0; expected < kItems; ++expected) {
      EXPECT_EQ(queue.front().sample.time_ns, expected);
      EXPECT_EQ(queue.front().sample.values[1], -expected);
      queue.pop();
    }
  });
  for (std::int64_t item = 0; item < kItems;) {
    QueueItem* slot = queue.free_slot();
    if (slot == nullptr) {
      std::this_thread::yield();
      continue;
    }
    slot->sample.time_ns = item;
    slot->sample.values[1] = -item;
    queue.push();
    ++item;
  }
  consumer.join();
}

TEST(RowQueue, SaysThatItIsFullAndForgetsNothing) {
  RowQueue queue(2, 1);
  for (const std::int64_t time : {1, 2}) {
    queue.free_slot()->sample.time_ns = time;
    queue.push();
  }
  EXPECT_EQ(queue.free_slot(), nullptr);
  EXPECT_EQ(queue.front().sample.time_ns, 1);
  queue.pop();
  EXPECT_NE(queue.free_slot(), nullptr);
  EXPECT_EQ(queue.front().sample.time_ns, 2);
}

TEST(RowQueue, HoldsItemsBackUntilTheNextIsHandedOver) {
  RowQueue queue(8, 1);
  for (const std::int64_t time : {1, 2}) {
    queue.free_slot()->sample.time_ns = time;
    queue.hold_back();
  }
  EXPECT_EQ(queue.front_within(0), nullptr);
  EXPECT_FALSE(queue.has_unwritten());
  queue.free_slot()->sample.time_ns = 3;
  queue.push();
  for (const std::int64_t time : {1, 2, 3}) {
    EXPECT_TRUE(queue.has_unwritten());
    ASSERT_NE(queue.front_within(0), nullptr);
    EXPECT_EQ(queue.front().sample.time_ns, time);
    queue.pop();
  }
  EXPECT_EQ(queue.front_within(0), nullptr);
  EXPECT_FALSE(queue.has_unwritten());
}

TEST(RowQueue, HoldsNoMoreThanHalfOfItsSlotsBack) {
  RowQueue queue(4, 1);
  for (int item = 0; item < 2; ++item) queue.hold_back();
  EXPECT_EQ(queue.front_within(0), nullptr);
  queue.hold_back();
  EXPECT_NE(queue.front_within(0), nullptr);
}

}  // namespace
}  // namespace tools
