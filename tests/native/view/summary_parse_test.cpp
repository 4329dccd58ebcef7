#include "view/summary_parse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "view/made_up.hpp"
#include "view/summary.hpp"

namespace view {
namespace {

using ::testing::HasSubstr;

store::CellSummary rich_summary() {
  store::CellSummary summary = made_up::summary();
  summary.gaps = {{1.5, 2.5, "the sampler was stopped or starved"}};
  summary.outcome = record::Outcome::kDied;
  summary.outcome_text = "killed by signal 9 (SIGKILL)";
  store::MetricSummary gauge;
  gauge.kind = record::Kind::kGauge;
  gauge.values = {40, 90, 10};
  summary.levels[1].others["gpu0.utilization_percent"] = gauge;
  summary.levels[0].others["page_faults"].gain = 7;
  summary.levels[0].others["net_receive_bytes"];
  store::LevelSummary job;
  job.name = "job";
  job.why_absent = "not supported: no cgroup";
  summary.unknown["job"] = job.why_absent;
  summary.levels.insert(summary.levels.begin() + 1, job);
  record::Device device;
  device.name = "gpu0";
  device.kind = "NVML";
  device.model = "A100";
  device.memory_bytes = 80;
  summary.devices = {device};
  summary.consumers.resize(2);
  summary.consumers[0].name = "python";
  summary.consumers[0].cpu_time_ns = 1'500'000'000;
  summary.other_consumers = 3;
  summary.notes["process"] = "lower bound: …";
  summary.rate_note = "a tick would cost too much";
  summary.sample_age_s = 1.25;
  summary.engine = {31'000'000, 42'000'000, record::unknown(record::State::kNotSupported)};
  return summary;
}

TEST(ParsedSummary, IsWhatWasWritten) {
  for (const store::CellSummary& summary : {made_up::summary(), rich_summary()}) {
    const std::string json = summary_json(summary);
    const auto parsed = parse_summary(json);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(summary_json(*parsed), json);
  }
}

TEST(ParsedSummary, ReadsLikeTheOriginal) {
  for (const char* level : {"", "process", "node"}) {
    const auto parsed = parse_summary(summary_json(rich_summary()));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(summary_text(*parsed, level), summary_text(rich_summary(), level)) << level;
  }
}

// A number that lies at the edge of two texts is rounded once only.
TEST(ParsedSummary, ReadsLikeTheOriginalWhateverTheNumbers) {
  std::mt19937_64 chance(7);
  const auto up_to = [&](std::uint64_t most) { return static_cast<double>(chance() % most); };
  for (int i = 0; i < 3000; ++i) {
    store::CellSummary summary = made_up::summary();
    summary.duration_s = up_to(100'000'000) / 1e9;
    for (store::LevelSummary& level : summary.levels) {
      level.cpu_time_s = up_to(10'000'000'000) / 1e9;
      level.cpu_percent = {49 + up_to(20'000) / 1e4, 51.5 - up_to(10) / 1e4,
                           up_to(1'000'000) / 1e4};
    }
    const auto parsed = parse_summary(summary_json(summary));
    ASSERT_TRUE(parsed);
    ASSERT_EQ(summary_text(*parsed, ""), summary_text(summary, "")) << i;
  }
}

TEST(ParsedSummary, OtherObjectsAreNone) {
  for (const char* json :
       {"", "null", "[]", "7", "{", "{}", R"({"version": 2, "cell": {}, "levels": {}})",
        R"({"version": 1, "cell": [], "levels": {}})", R"({"version": 1, "total": {}})"}) {
    EXPECT_FALSE(parse_summary(json)) << json;
  }
}

TEST(ParsedSummary, WrongTypesCountAsLeftOut) {
  const auto parsed = parse_summary(R"({"version": 1, "cell": {"index": "x", "duration_s": 1e308,
      "outcome": 5}, "levels": {"process": {"cpu_percent": [1], "cpu_time_s": "a",
      "memory_bytes": 18446744073709551615, "io_read_bytes": 1e300, "threads": null,
      "devices": {"gpu0": 3}}, "node": 4}, "gaps": {}, "unknown": [1], "devices": "no"})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->index, 0);
  ASSERT_EQ(parsed->levels.size(), 2U);
  EXPECT_FALSE(parsed->levels[0].cpu_percent.mean);
  EXPECT_FALSE(parsed->levels[0].io_read_bytes);
  EXPECT_FALSE(parsed->levels[1].why_absent.empty());
  EXPECT_THAT(summary_text(*parsed, ""), HasSubstr("#0"));
}

}  // namespace
}  // namespace view
