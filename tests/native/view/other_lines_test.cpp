// Lines that are there only when there is something to say.
#include "view/other_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "view/made_up.hpp"
#include "view/summary.hpp"

namespace view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000'000;

store::MetricSummary counter(std::int64_t gain) {
  store::MetricSummary figures;
  figures.gain = gain;
  return figures;
}

store::MetricSummary gauge(double mean, double max) {
  store::MetricSummary figures;
  figures.kind = record::Kind::kGauge;
  figures.values.mean = mean;
  figures.values.max = max;
  figures.values.min = 0;
  return figures;
}

class OtherLinesTest : public testing::Test {
 protected:
  OtherLinesTest() { summary_.levels.insert(summary_.levels.begin() + 1, made_up::level("job")); }
  store::LevelSummary& process() { return summary_.levels[0]; }
  store::LevelSummary& job() { return summary_.levels[1]; }
  store::LevelSummary& node() { return summary_.levels[2]; }
  [[nodiscard]] std::string text(const std::string& level = "process") const {
    return summary_text(summary_, level);
  }

  store::CellSummary summary_ = made_up::summary();
};

TEST_F(OtherLinesTest, AreNoneWhenNothingHurts) {
  job().others["throttled_ns"] = counter(kSecond / 100);
  process().others["swap_bytes"] = gauge(0, 4096);
  node().others["pressure_io_some_ns"] = counter(kSecond / 10);
  EXPECT_EQ(text(), summary_text(made_up::summary(), "process"));
}

TEST_F(OtherLinesTest, SayThatTheQuotaHeldItUp) {
  job().others["throttled_ns"] = counter(2 * kSecond);
  EXPECT_THAT(text(), HasSubstr("throttled  2.00 s by the CPU quota"));
  EXPECT_THAT(text("job"), HasSubstr("throttled  2.00 s by the CPU quota"));
  EXPECT_THAT(text("node"), Not(HasSubstr("throttled")));
}

TEST_F(OtherLinesTest, SayWhatItWaitedForAndWhere) {
  node().others["pressure_io_some_ns"] = counter(3 * kSecond);
  node().others["pressure_cpu_some_ns"] = counter(kSecond / 10);
  EXPECT_THAT(text(), HasSubstr("49.8 % for I/O of the time (some task of the node)"));
  EXPECT_THAT(text(), Not(HasSubstr("for a core")));
  job().others["pressure_cpu_some_ns"] = counter(6 * kSecond);
  EXPECT_THAT(text(), HasSubstr("99.7 % for a core of the time (some task of the job)"));
}

TEST_F(OtherLinesTest, SayWhatLiesInSwap) {
  process().others["swap_bytes"] = gauge(1e9, 2147483648.0);
  EXPECT_THAT(text(), HasSubstr("swap    max 2.00 GiB"));
}

TEST_F(OtherLinesTest, NameTheLargestConsumersOfATree) {
  summary_.consumers = {{10, 1, "python", 4 * kSecond, 1, false},
                        {11, 1, "wor\x1bker", 3 * kSecond, 1, false},
                        {12, 1, "c", 2 * kSecond, 1, false},
                        {13, 1, "d", kSecond, 1, false}};
  EXPECT_THAT(text(), HasSubstr("python (10) 4.00 s, wor\\x1bker (11) 3.00 s, c (12) 2.00 s\n"));
  process().processes_max = 1;
  EXPECT_THAT(text(), Not(HasSubstr("python (10)")));
}

TEST_F(OtherLinesTest, SayOnceThatTooManyAreBusy) {
  for (std::int64_t pid = 1; pid <= 8; ++pid) {
    summary_.consumers.push_back({pid, 1, "w", kSecond, 1, false});
  }
  EXPECT_THAT(text(), HasSubstr("8 busy processes on 2 usable cores"));
  summary_.levels[0].cpu_percent.mean = 40;  // they wait for something else
  EXPECT_THAT(text(), Not(HasSubstr("busy processes")));
}

TEST_F(OtherLinesTest, ShowACardWithTheCellsOwnShareOfIt) {
  summary_.devices.push_back({1, "gpu0", "NVML", "NVIDIA H200", "GPU-1", 0, 150'323'855'360, ""});
  node().others["gpu0.utilization_percent"] = gauge(87.4, 100);
  node().others["gpu0.memory_bytes"] = gauge(5e10, 64424509440.0);
  node().others["gpu0.power_milliwatts"] = gauge(412'300, 700'000);
  process().others["gpu0.memory_bytes"] = gauge(5e10, 53687091200.0);
  EXPECT_THAT(text(), HasSubstr("gpu0    87.4 % (max 100) · memory max 50.0 GiB (all: 60.0 GiB) of "
                                "140 GiB · 412 W · NVIDIA H200"));
  EXPECT_THAT(text("node"), HasSubstr("memory max 60.0 GiB of 140 GiB"));
  const Json json = Json::parse(summary_json(summary_));
  EXPECT_EQ(json["devices"]["gpu0"]["id"], "GPU-1");
  EXPECT_EQ(json["levels"]["node"]["devices"]["gpu0"]["utilization_percent"]["max"], 100);
}

TEST_F(OtherLinesTest, NeverCallACardIdleThatCannotBeMeasured) {
  summary_.devices.push_back({1, "gpu0_mig1", "NVML", "A100", "MIG-1", 0, 21'474'836'480, "MIG"});
  node().others["gpu0_mig1.utilization_percent"] = {};
  node().others["gpu0_mig1.memory_bytes"] = gauge(5e9, 5368709120.0);
  summary_.unknown["node.gpu0_mig1.utilization_percent"] = "not supported: MIG slices have none";
  EXPECT_THAT(text(), HasSubstr("use n/a (MIG) · memory max 5.00 GiB of 20.0 GiB"));
  const Json json = Json::parse(summary_json(summary_));
  EXPECT_TRUE(json["levels"]["node"]["devices"]["gpu0_mig1"]["utilization_percent"].is_null());
}

TEST_F(OtherLinesTest, SayWhyALevelIsAbsent) {
  job() = {};
  job().name = "job";
  job().why_absent = "not supported: this process is in no job";
  EXPECT_THAT(text("job"), HasSubstr("job  not supported: this process is in no job"));
  const Json json = Json::parse(summary_json(summary_));
  EXPECT_TRUE(json["levels"]["job"].is_null());
}

TEST_F(OtherLinesTest, LeaveOutOfTheJsonOnlyWhatIsZero) {
  node().others["net_errors"] = counter(0);
  node().others["net_receive_bytes"] = counter(17);
  node().others["major_page_faults"] = {};
  const Json node = Json::parse(summary_json(summary_))["levels"]["node"];
  EXPECT_FALSE(node.contains("net_errors"));
  EXPECT_EQ(node["net_receive_bytes"], 17);
  EXPECT_TRUE(node.contains("major_page_faults") && node["major_page_faults"].is_null());
}

}  // namespace
}  // namespace view
