// Levels and metrics beyond those that every recording has.
#include <gtest/gtest.h>

#include "record/real.hpp"
#include "store/summary.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;
using record::State;
using record::unknown;

std::vector<std::string> with(std::vector<std::string> more) {
  std::vector<std::string> columns = both_levels();
  for (std::string& name : more) columns.push_back(std::move(name));
  return columns;
}

// A cell of one second with three samples.
class OtherMetricsTest : public testing::Test {
 protected:
  static CellSummary summary(const std::vector<std::string>& columns, const Values& begin,
                             const Values& middle, const Values& end,
                             const std::vector<record::Record>& more = {}) {
    Recorder recorder(with(columns));
    recorder.add(cell_begin(kStart, kStart));
    recorder.edge(kStart, begin);
    recorder.row(kStart + kSecond / 2, middle);
    recorder.edge(kStart + kSecond, end);
    recorder.add(cell_end(kStart + kSecond, kStart + kSecond));
    for (const record::Record& one : more) recorder.add(one);
    return summary_of(recorder.open());
  }
};

TEST_F(OtherMetricsTest, GiveWhatACounterGainedInTheCell) {
  const auto one = summary({"node.storage_read_ops"}, {{"node.storage_read_ops", 1000}},
                           {{"node.storage_read_ops", 1010}}, {{"node.storage_read_ops", 1050}});
  EXPECT_EQ(level_of(one, "node").others.at("storage_read_ops").gain, 50);
}

TEST_F(OtherMetricsTest, CountOnAfterACounterThatBeganAnew) {
  const auto one = summary({"node.storage_read_ops"}, {{"node.storage_read_ops", 1000}},
                           {{"node.storage_read_ops", 20}}, {{"node.storage_read_ops", 25}});
  EXPECT_EQ(level_of(one, "node").others.at("storage_read_ops").gain, 5);
}

TEST_F(OtherMetricsTest, GiveTheStatisticsOfAGauge) {
  const auto one = summary({"node.swap_bytes"}, {{"node.swap_bytes", 10}},
                           {{"node.swap_bytes", 30}}, {{"node.swap_bytes", 20}});
  const MetricSummary& swap = level_of(one, "node").others.at("swap_bytes");
  EXPECT_EQ(swap.values.max, 30);
  EXPECT_EQ(swap.values.min, 10);
  EXPECT_DOUBLE_EQ(*swap.values.mean, 22.5);
  EXPECT_EQ(swap.last, 20);
  EXPECT_FALSE(swap.gain);
}

// The columns of a custom monitor, in a cell of one second.
class RealMetricsTest : public testing::Test {
 protected:
  RealMetricsTest() {
    record::Schema schema;
    for (const std::string& name : both_levels()) schema.columns.push_back({name});
    schema.columns.push_back({"node.train.loss", record::Kind::kGauge, true, "nats"});
    schema.columns.push_back({"node.train.read", record::Kind::kCounter, true, "bytes"});
    recorder_.add(schema);
    recorder_.add(record::Device{1, "train", "monitor", "a test", "", 0, -3, ""});
    recorder_.add(cell_begin(kStart, kStart));
  }
  void row(std::int64_t time_ns, record::Value loss, record::Value read, std::uint8_t flags) {
    record::Sample sample;
    sample.time_ns = time_ns;
    sample.flags = flags;
    sample.values.assign(both_levels().size(), 1);
    sample.values.push_back(loss);
    sample.values.push_back(read);
    ASSERT_TRUE(recorder_.writer().append_row(sample));
  }
  CellSummary summary() {
    recorder_.add(cell_end(kStart + kSecond, kStart + kSecond));
    return summary_of(recorder_.open());
  }
  Recorder recorder_;
};

TEST_F(RealMetricsTest, HaveExactFiguresOfEitherSign) {
  using record::real_value;
  row(kStart, real_value(-0.3), real_value(100.5), record::kEdgeSample);
  row(kStart + kSecond / 2, real_value(0.1), real_value(200.5), 0);
  row(kStart + kSecond, real_value(-0.3), real_value(1000.75), record::kEdgeSample);
  const CellSummary one = summary();
  const MetricSummary& loss = level_of(one, "node").others.at("train.loss");
  EXPECT_TRUE(loss.real);
  EXPECT_EQ(loss.values.min, -0.3);
  EXPECT_EQ(loss.values.max, 0.1);
  EXPECT_DOUBLE_EQ(*loss.values.mean, -0.1);
  EXPECT_EQ(level_of(one, "node").others.at("train.read").real_gain, 900.25);
  EXPECT_EQ(one.units.at("node.train.loss"), "nats");
  EXPECT_FALSE(one.unknown.contains("node.train.loss"));
}

TEST_F(RealMetricsTest, SayWhyTheyAreUnknown) {
  const auto gone = unknown(State::kVanished);
  row(kStart, gone, gone, record::kEdgeSample);
  row(kStart + kSecond, gone, gone, record::kEdgeSample);
  recorder_.add(record::Missing{kStart, "node.train", State::kVanished, "it exited with status 3"});
  const CellSummary one = summary();
  EXPECT_FALSE(level_of(one, "node").others.at("train.loss").values.mean);
  EXPECT_EQ(one.unknown.at("node.train.loss"), "vanished: it exited with status 3");
  EXPECT_EQ(one.unknown.at("node.train.read"), "vanished: it exited with status 3");
}

TEST_F(RealMetricsTest, SayThatTheyAreIncomplete) {
  using record::real_value;
  row(kStart, real_value(1), real_value(1), record::kEdgeSample);
  row(kStart + kSecond / 2, real_value(2), real_value(3), 0);
  row(kStart + kSecond, unknown(State::kVanished), unknown(State::kVanished), record::kEdgeSample);
  recorder_.add(record::Missing{kStart, "node.train", State::kVanished, "it was killed"});
  const CellSummary one = summary();
  EXPECT_EQ(level_of(one, "node").others.at("train.read").real_gain, 2);
  EXPECT_EQ(one.notes.at("node.train.read"), "incomplete: vanished: it was killed");
}

TEST_F(OtherMetricsTest, SayWhyOneIsUnknown) {
  const record::Missing reason{1, "node.storage_read_ops", State::kNotPermitted, "somebody minds"};
  const record::Value refused = unknown(State::kNotPermitted);
  const auto one =
      summary({"node.storage_read_ops"}, {{"node.storage_read_ops", refused}}, {}, {}, {reason});
  EXPECT_FALSE(level_of(one, "node").others.at("storage_read_ops").gain);
  EXPECT_EQ(one.unknown.at("node.storage_read_ops"), "not permitted: somebody minds");
}

TEST_F(OtherMetricsTest, LeaveOutWhatTheLevelsOwnFiguresShow) {
  const auto one = summary(
      {"node.core3.cpu_time_ns", "process.root_cpu_time_ns", "process.pss_bytes", "no_level"}, {},
      {}, {});
  EXPECT_TRUE(level_of(one, "node").others.empty());
  EXPECT_EQ(level_of(one, "process").others.size(), 2U);  // the switches
}

TEST_F(OtherMetricsTest, KnowLevelsBetweenProcessAndNode) {
  const auto one =
      summary({"user.cpu_time_ns", "user.memory_bytes", "user.capacity_millicores",
               "job.cpu_time_ns", "job.throttled_ns"},
              {{"user.cpu_time_ns", 0},
               {"user.memory_bytes", 9},
               {"user.capacity_millicores", 8000},
               {"job.cpu_time_ns", 0}},
              {}, {{"user.cpu_time_ns", 4 * kSecond}, {"job.cpu_time_ns", 2 * kSecond}});
  ASSERT_EQ(one.levels.size(), 4U);
  EXPECT_EQ(one.levels[1].name, "user");
  EXPECT_EQ(one.levels[2].name, "job");
  EXPECT_DOUBLE_EQ(*level_of(one, "user").cpu_time_s, 4);
  EXPECT_DOUBLE_EQ(*level_of(one, "user").cpu_percent.mean, 50);
  EXPECT_DOUBLE_EQ(*level_of(one, "job").cpu_time_s, 2);
  EXPECT_TRUE(level_of(one, "job").others.contains("throttled_ns"));
}

TEST_F(OtherMetricsTest, CallALevelAbsentOfWhichNothingIsKnown) {
  const record::Value none = unknown(State::kNotSupported);
  const record::Missing reason{1, "job", State::kNotSupported, "its cgroup is the root"};
  const auto one =
      summary({"job.cpu_time_ns", "job.memory_bytes", "job.processes"},
              {{"job.cpu_time_ns", none}, {"job.memory_bytes", none}, {"job.processes", none}}, {},
              {}, {reason});
  EXPECT_EQ(level_of(one, "job").why_absent, "not supported: its cgroup is the root");
  EXPECT_EQ(one.unknown.at("job"), "not supported: its cgroup is the root");
  EXPECT_FALSE(one.unknown.contains("job.cpu_time_s"));
}

TEST_F(OtherMetricsTest, HaveTheDevicesThatColumnsAreAbout) {
  record::Device device;
  device.name = "gpu0";
  device.model = "old";
  record::Device again = device;
  again.model = "H200";
  const auto one = summary({"node.gpu0.power_milliwatts"}, {{"node.gpu0.power_milliwatts", 7}}, {},
                           {}, {device, again});
  ASSERT_EQ(one.devices.size(), 1U);
  EXPECT_EQ(one.devices[0].model, "H200");
  EXPECT_EQ(level_of(one, "node").others.at("gpu0.power_milliwatts").values.max, 7);
}

TEST_F(OtherMetricsTest, JoinThePartsOfACellInWhichAnotherRan) {
  const record::Consumer first{10, 1, "python", kSecond, 5, false};
  const record::Consumer second{11, 1, "worker", 3 * kSecond, 6, true};
  const record::Consumers parts[] = {
      {kStart, kStart + kSecond / 2, 1, kMs, {first}},
      {kStart + kSecond / 2, kStart + kSecond, 2, kMs, {second, first}},
      {kStart + kSecond, kStart + 2 * kSecond, 9, kSecond, {first}}};  // of the next cell
  const auto one = summary({}, {}, {}, {}, {parts[0], parts[1], parts[2]});
  ASSERT_EQ(one.consumers.size(), 2U);
  EXPECT_EQ(one.consumers[0].name, "worker");
  EXPECT_EQ(one.consumers[1].cpu_time_ns, 2 * kSecond);
  EXPECT_EQ(one.other_consumers, 3);
  EXPECT_DOUBLE_EQ(one.other_consumers_cpu_time_s, 0.002);
}

TEST_F(OtherMetricsTest, SayThatSamplesWereFewerThanAskedFor) {
  const auto note_of = [](const std::vector<record::Record>& settings) {
    return summary({}, {}, {}, {}, settings).rate_note;
  };
  const record::Settings before{2, 5, "a tick costs too much"};
  EXPECT_EQ(note_of({before}), "a tick costs too much");
  EXPECT_EQ(note_of({before, record::Settings{3, 10, ""}}), "");
  EXPECT_EQ(
      note_of({record::Settings{kStart + 1, 5, "slow"}, record::Settings{kStart + 2, 10, ""}}),
      "slow");
  EXPECT_EQ(note_of({record::Settings{kStart + 2 * kSecond, 5, "later"}}), "");
}

TEST_F(OtherMetricsTest, ManyConsumersBecomeOthers) {
  record::Consumers part{kStart, kStart + kSecond, 0, 0, {}};
  for (std::int64_t i = 1; i <= 14; ++i) part.list.push_back({i, 1, "p", i * kSecond, 1, false});
  const auto one = summary({}, {}, {}, {}, {part});
  ASSERT_EQ(one.consumers.size(), record::kMostConsumers);
  EXPECT_EQ(one.consumers[0].pid, 14);
  EXPECT_EQ(one.other_consumers, 4);
  EXPECT_DOUBLE_EQ(one.other_consumers_cpu_time_s, 1 + 2 + 3 + 4);
}

}  // namespace
}  // namespace store
