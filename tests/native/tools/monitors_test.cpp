// The reader of custom monitors, over real pipes.
#include "tools/monitors.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "record/real.hpp"

namespace tools {
namespace {

using testing::HasSubstr;

class MonitorsTest : public testing::Test {
 protected:
  // Adds one, and gives the end that it prints to.
  base::File add(const std::string& name, double rate_hz = 1) {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    monitors_.add({name, "a test", rate_hz}, base::File(ends[0]));
    return base::File(ends[1]);
  }
  static void print(const base::File& pipe, std::string_view line) {
    EXPECT_TRUE(base::write_all(pipe.fd(), std::string(line) + "\n"));
  }
  // Ticks until something has happened.
  MonitorNews next_news() {
    for (;;) {
      tick();
      for (MonitorNews& one : monitors_.take_news()) news_.push_back(std::move(one));
      if (!news_.empty()) break;
      ::poll(nullptr, 0, 1);
    }
    MonitorNews first = std::move(news_.front());
    news_.erase(news_.begin());
    return first;
  }
  void tick() {
    monitors_.columns_changed();
    values_.resize(monitors_.columns().size());
    monitors_.read(values_, probe::Turn{});
  }
  record::Value value(const std::string& column) {
    tick();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (monitors_.columns()[i].name == column) return values_[i];
    }
    return record::unknown(record::State::kNotSupported);
  }
  void await(const std::string& column, double number) {
    while (record::number_of(true, value(column)) != number) ::poll(nullptr, 0, 1);
  }

  Monitors monitors_{{"process", "node"}};
  std::vector<record::Value> values_;
  std::vector<MonitorNews> news_;
};

TEST_F(MonitorsTest, AddsAColumnForEachMetric) {
  const base::File pipe = add("train");
  print(
      pipe,
      R"({"metrics": [{"name": "loss"}, {"name": "steps", "kind": "counter", "level": "process", "unit": "1"}]})");
  EXPECT_EQ(next_news().reason, "");
  ASSERT_EQ(monitors_.columns().size(), 2U);
  EXPECT_EQ(monitors_.columns()[0].name, "node.train.loss");
  EXPECT_EQ(monitors_.columns()[1].name, "process.train.steps");
  EXPECT_EQ(monitors_.columns()[1].unit, "1");
  EXPECT_TRUE(monitors_.columns()[1].real);
  const auto devices = monitors_.take_devices();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].name, "train");
  EXPECT_EQ(devices[0].kind, "monitor");
  EXPECT_EQ(devices[0].model, "a test");
  print(pipe, R"({"values": {"loss": -0.3, "steps": 7}})");
  await("node.train.loss", -0.3);
  await("process.train.steps", 7);
}

TEST_F(MonitorsTest, SayWhyOneWasCutOffAndHaveItsValuesNoMore) {
  base::File pipe = add("train");
  print(pipe, R"({"metrics": [{"name": "loss"}]})");
  print(pipe, R"({"values": {"loss": 1}})");
  EXPECT_EQ(next_news().reason, "");
  await("node.train.loss", 1);
  print(pipe, "rubbish");
  const MonitorNews news = next_news();
  EXPECT_EQ(news.name, "train");
  EXPECT_THAT(news.levels, testing::ElementsAre("node"));
  EXPECT_THAT(news.reason, HasSubstr("no JSON object: rubbish"));
  while (value("node.train.loss") != record::unknown(record::State::kVanished)) {
  }
  // Its pipe is closed: that ends it.
  pollfd entry{pipe.fd(), 0, 0};
  EXPECT_EQ(::poll(&entry, 1, -1), 1);
  EXPECT_NE(entry.revents & POLLERR, 0);
}

TEST_F(MonitorsTest, GoOnInTheSameColumnWithOneOfTheSameName) {
  add("train");
  EXPECT_EQ(next_news().reason, "it ended");
  for (int i = 1; i < 3; ++i) {
    const base::File pipe = add("train");
    print(pipe, R"({"metrics": [{"name": "loss"}]})");
    print(pipe, R"({"values": {"loss": )" + std::to_string(i) + "}}");
    EXPECT_EQ(next_news().reason, "");
    await("node.train.loss", i);
    EXPECT_EQ(monitors_.columns().size(), 1U);
    monitors_.remove("train");
    EXPECT_EQ(next_news().reason, "it was removed");
  }
}

TEST_F(MonitorsTest, RefuseALevelOfWhichNothingIsMeasured) {
  const base::File pipe = add("train");
  print(pipe, R"({"metrics": [{"name": "loss", "level": "job"}]})");
  EXPECT_THAT(next_news().reason, HasSubstr("level job, of which nothing is measured here"));
  EXPECT_TRUE(monitors_.columns().empty());
}

TEST_F(MonitorsTest, RefuseAnotherKindUnderTheSameName) {
  for (const char* kind : {"gauge", "counter"}) {
    const base::File pipe = add("train");
    print(pipe, std::string(R"({"metrics": [{"name": "loss", "kind": ")") + kind + "\"}]}");
    const std::string reason = next_news().reason;
    if (kind[0] == 'g') {
      EXPECT_EQ(reason, "");
      monitors_.remove("train");
      next_news();
    } else {
      EXPECT_THAT(reason, HasSubstr("another kind or unit before"));
    }
  }
}

TEST_F(MonitorsTest, HaveAMostOfColumnsAndOfMonitors) {
  std::vector<base::File> pipes;
  std::string metrics = R"({"metrics": [)";
  for (int i = 0; i < 64; ++i)
    metrics += (i > 0 ? "," : "") + ("{\"name\": \"m" + std::to_string(i)) + "\"}";
  metrics += "]}";
  for (const char* name : {"a", "b", "c"}) {
    pipes.push_back(add(name));
    print(pipes.back(), metrics);
    EXPECT_EQ(next_news().reason.empty(), pipes.size() < 3) << name;
  }
  EXPECT_EQ(monitors_.columns().size(), Monitors::kMostColumns);
  for (int i = 0; i < 14; ++i) pipes.push_back(add("more" + std::to_string(i)));
  pipes.push_back(add("last"));
  const MonitorNews news = next_news();
  EXPECT_EQ(news.name, "last");
  EXPECT_THAT(news.reason, HasSubstr("16 monitors are the most"));
}

TEST_F(MonitorsTest, ReadTheOthersWhileOneFloods) {
  const base::File quiet = add("quiet");
  const base::File loud = add("loud");
  for (const base::File* one : {&quiet, &loud}) {
    print(*one, R"({"metrics": [{"name": "x"}]})");
    EXPECT_EQ(next_news().reason, "");
  }
  ::fcntl(loud.fd(), F_SETFL, O_NONBLOCK);
  const std::string line = "{\"values\": {\"x\": 1}}\n";
  std::signal(SIGPIPE, SIG_IGN);
  while (::write(loud.fd(), line.data(), line.size()) > 0 || errno == EAGAIN) {
  }
  EXPECT_EQ(errno, EPIPE);
  EXPECT_THAT(next_news().reason, HasSubstr("lines in a second"));
  print(quiet, R"({"values": {"x": 5}})");
  await("node.quiet.x", 5);
}

}  // namespace
}  // namespace tools
