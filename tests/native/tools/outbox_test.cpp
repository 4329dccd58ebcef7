#include "tools/outbox.hpp"

#include <gtest/gtest.h>

namespace tools {
namespace {

constexpr std::int64_t kMs = 1'000'000;

class OutboxTest : public testing::Test {
 protected:
  void row(std::int64_t now_ms, std::int64_t next_ms) {
    outbox_.push_row(1, now_ms * kMs, next_ms * kMs,
                     [&](record::Sample& sample) { sample.time_ns = now_ms * kMs; });
  }
  // How many the disk's thread would get now.
  int written() {
    int count = 0;
    for (; outbox_.queue().front_within(0) != nullptr; ++count) outbox_.queue().pop();
    return count;
  }

  Outbox outbox_{1};
};

TEST_F(OutboxTest, SendsRowsSomeTimesASecond) {
  std::vector<int> counts;
  for (int now_ms = 1000; now_ms < 2000; now_ms += 100) {
    row(now_ms, 100);
    counts.push_back(written());
  }
  EXPECT_EQ(counts, (std::vector{1, 0, 0, 0, 4, 0, 0, 0, 4, 0}));
}

TEST_F(OutboxTest, LetsSeldomRowsAndEdgesGoAtOnce) {
  for (int now_ms = 1000; now_ms < 5000; now_ms += 500) {
    row(now_ms, 500);
    EXPECT_EQ(written(), 1);
  }
  row(5000, 100);
  EXPECT_EQ(written(), 1);
  row(5100, 100);
  EXPECT_EQ(written(), 0);
  row(5110, 0);
  EXPECT_EQ(written(), 2);
}

TEST_F(OutboxTest, SendsRowsBeforeTheRecordBehindThem) {
  row(1000, 100);
  row(1100, 100);
  EXPECT_EQ(written(), 1);
  outbox_.push(record::Gap{});
  EXPECT_EQ(written(), 2);
  row(1200, 100);
  EXPECT_TRUE(outbox_.push_last({}));
  EXPECT_EQ(written(), 2);
}

}  // namespace
}  // namespace tools
