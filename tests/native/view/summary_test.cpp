#include "view/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "view/made_up.hpp"

namespace view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kMarkup = "</td><script>alert('x')</script>&\"\x1b[31m\xED\xA0\x80\xFF";

// A summary in which every text comes from somebody hostile.
store::CellSummary hostile() {
  store::CellSummary summary = made_up::summary();
  summary.outcome = record::Outcome::kDied;
  summary.outcome_text = kMarkup;
  summary.gaps = {{1.0, 2.5, kMarkup}};
  summary.unknown["process.cpu_time_s"] = kMarkup;
  summary.notes["process"] = kMarkup;
  summary.levels[0].capacity_source = kMarkup;
  summary.levels[0].cpu_time_s.reset();
  summary.levels[0].cpu_percent = {};
  return summary;
}

TEST(SummaryText, IsShortAndWorthReading) {
  EXPECT_EQ(summary_text(made_up::summary(), "process"),
            "In [3] · 6.02 s\n"
            "CPU     98.7 % of 2 cores (max 100, min 91) · 11.9 s CPU time\n"
            "memory  mean 1.25 GiB · max 1.40 GiB · peak 1.52 GiB of 7.75 GiB\n"
            "I/O     12.0 MiB read, 3.10 GiB written · storage 0 B read, 2.90 GiB written\n"
            "tree    at most 5 processes, 12 threads");
}

TEST(SummaryText, ShowsTheLevelThatIsAskedFor) {
  EXPECT_EQ(summary_text(made_up::summary(), "node"),
            "In [3] · 6.02 s\n"
            "level node\n"
            "CPU     98.7 % of 64 cores (max 100, min 91) · 11.9 s CPU time\n"
            "memory  mean 1.25 GiB · max 1.40 GiB · peak 1.52 GiB of 7.75 GiB\n"
            "I/O     not supported · storage 0 B read, 2.90 GiB written\n"
            "node    at most 312 processes, 1822 threads");
  const std::string all = summary_text(made_up::summary(), "");
  EXPECT_THAT(all, HasSubstr("level process\n"));
  EXPECT_THAT(all, HasSubstr("level node\n"));
  EXPECT_EQ(summary_text(made_up::summary(), "job"),
            "In [3] · 6.02 s\nnote  nothing was measured at level job");
}

TEST(SummaryText, SaysWhatIsNotExact) {
  store::CellSummary summary = made_up::summary();
  summary.execution_count.reset();
  summary.outcome = record::Outcome::kInterrupted;
  summary.sample_age_s = 0.8;
  summary.gaps = {{2.0, 4.1, "the sampler was stopped or starved"}};
  summary.notes["process"] = "lower bound: there is no sample at the end of the cell";
  summary.levels[0].processes_max = 1;
  summary.levels[0].memory_bytes.peak_lower_bound = true;
  summary.levels[0].memory_bytes.upper_bound = true;
  summary.levels[0].cpu_percent.max = summary.levels[0].cpu_percent.min = std::nullopt;
  EXPECT_EQ(summary_text(summary, "process"),
            "#4 · 6.02 s · interrupted\n"
            "CPU     ≥ 98.7 % of 2 cores · ≥ 11.9 s CPU time\n"
            "memory  mean 1.25 GiB · max 1.40 GiB · peak ≥ 1.52 GiB of 7.75 GiB (shared pages "
            "counted more than once)\n"
            "I/O     ≥ 12.0 MiB read, ≥ 3.10 GiB written · storage ≥ 0 B read, ≥ 2.90 GiB written\n"
            "gap     no samples from 2.00 to 4.10 s: the sampler was stopped or starved\n"
            "note    ≥: lower bound: there is no sample at the end of the cell\n"
            "note    the last sample is 800 ms older than the end of the cell");
}

TEST(SummaryText, SaysWhatAnEngineTook) {
  store::CellSummary summary = made_up::summary();
  EXPECT_THAT(summary_text(summary, ""), Not(HasSubstr("engine")));
  summary.engine = {31'000'000, 42'000'000, record::unknown(record::State::kNotSupported)};
  const std::string text = summary_text(summary, "");
  EXPECT_THAT(text, HasSubstr("started in 31"));
  EXPECT_THAT(text, HasSubstr("variables carried in 42"));
  EXPECT_THAT(text, Not(HasSubstr("back in")));
}

TEST(SummaryText, SaysWhyNothingIsKnown) {
  store::CellSummary summary;
  summary.index = 1;
  summary.running = true;
  store::LevelSummary level;
  level.name = "process";
  summary.levels = {level};
  for (const char* metric : {"cpu_time_s", "memory_bytes", "io_read_bytes", "storage_read_bytes"}) {
    summary.unknown[std::string("process.") + metric] = "not yet: no sample in this cell has it";
  }
  EXPECT_EQ(summary_text(summary, "process"),
            "#1 · running for 0 s\n"
            "CPU     not yet: no sample in this cell has it\n"
            "memory  not yet: no sample in this cell has it\n"
            "I/O     not yet · storage not yet");
}

TEST(SummaryText, LetsNoControlThrough) {
  const std::string text = summary_text(hostile(), "");
  EXPECT_THAT(text, HasSubstr("\\x1b[31m"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\xFF")));
}

TEST(SummaryHtml, HasInlineStylesOnly) {
  const std::string html = summary_html(made_up::summary(), "");
  for (const char* word : {"<script", "<style", "<svg", "<iframe", "class=", "var(", "currentColor",
                           "http", " on", "opacity:."}) {
    EXPECT_THAT(html, Not(HasSubstr(word))) << word;
  }
  EXPECT_THAT(html, HasSubstr("98.7\u00A0% of 2\u00A0cores"));  // no line ends inside a quantity
}

TEST(SummaryHtml, EscapesEverything) {
  const std::string html = summary_html(hostile(), "");
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  EXPECT_THAT(html, Not(HasSubstr("\xFF")));
  EXPECT_THAT(html, HasSubstr("&lt;/td&gt;&lt;script&gt;alert(&#39;x&#39;)"));
}

TEST(SummaryJson, HasTheKeysThatAreDocumented) {
  const Json json = Json::parse(summary_json(made_up::summary()));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["cell"], (Json{{"index", 4},
                                {"execution_count", 3},
                                {"begin", "2026-11-29T14:54:20.123456Z"},
                                {"duration_s", 6.019234567},
                                {"outcome", "ok"}}));
  EXPECT_EQ(json["ticks"], 60);
  EXPECT_EQ(json["gaps"], Json::array());
  const Json& process = json["levels"]["process"];
  EXPECT_EQ(process["capacity"], (Json{{"cores", 2.0},
                                       {"memory_bytes", 8'321'499'136},
                                       {"source", "affinity of the kernel; memory of the node"}}));
  EXPECT_EQ(process["cpu_percent"], (Json{{"mean", 98.714}, {"max", 100.0}, {"min", 90.988}}));
  EXPECT_EQ(process["cpu_time_s"], 11.883412345);
  EXPECT_EQ(process["memory_bytes"], (Json{{"mean", 1'342'177'280},
                                           {"max", 1'503'238'553},
                                           {"min", 104'857'600},
                                           {"begin", 104'857'600},
                                           {"end", 1'493'238'553},
                                           {"peak", 1'632'087'572},
                                           {"upper_bound", false},
                                           {"peak_lower_bound", false}}));
  EXPECT_EQ(process["io_read_bytes"], 12'582'912);
  EXPECT_EQ(process["io_write_bytes"], 3'328'599'654);
  EXPECT_EQ(process["io_read_ops"], 4312);
  EXPECT_EQ(process["io_write_ops"], 51'987);
  EXPECT_EQ(process["storage_read_bytes"], 0);
  EXPECT_EQ(process["storage_write_bytes"], 3'113'851'289);
  EXPECT_EQ(process["processes"], (Json{{"max", 5}}));
  EXPECT_EQ(process["threads"], (Json{{"max", 12}}));
  const Json& node = json["levels"]["node"];
  EXPECT_TRUE(node["io_read_bytes"].is_null());
  EXPECT_EQ(node.size(), process.size());
  EXPECT_EQ(json["unknown"].size(), 4U);
  EXPECT_FALSE(json.contains("notes"));
}

TEST(SummaryJson, IsOneLineOfValidUtf8WithFiniteNumbers) {
  store::CellSummary summary = hostile();
  summary.levels[0].cpu_percent.mean = std::numeric_limits<double>::quiet_NaN();
  summary.levels[0].memory_bytes.mean = std::numeric_limits<double>::infinity();
  summary.levels[0].memory_bytes.max = 1e300;
  summary.gaps[0].begin_s = -std::numeric_limits<double>::infinity();
  summary.execution_count.reset();
  const std::string text = summary_json(summary);
  EXPECT_EQ(text.find('\n'), text.npos);
  const Json json = Json::parse(text);
  EXPECT_TRUE(json["cell"]["execution_count"].is_null());
  EXPECT_TRUE(json["levels"]["process"]["cpu_percent"]["mean"].is_null());
  EXPECT_EQ(json["cell"]["outcome"], "died");
  EXPECT_THAT(json["gaps"][0]["reason"].get<std::string>(), HasSubstr("\uFFFD"));
  EXPECT_THAT(json["notes"]["process"].get<std::string>(), HasSubstr("<script>"));
}

TEST(SummaryJson, OfARunningCellHasNoOutcome) {
  store::CellSummary summary = made_up::summary();
  summary.running = true;
  const Json json = Json::parse(summary_json(summary));
  EXPECT_TRUE(json["cell"]["outcome"].is_null());
  EXPECT_EQ(json["cell"]["running"], true);
}

TEST(SummaryJson, ShowsTwentyGapsAtMost) {
  store::CellSummary summary = made_up::summary();
  summary.gaps.assign(1000, {1, 2, "the sampler was lost"});
  const Json json = Json::parse(summary_json(summary));
  EXPECT_EQ(json["gaps"].size(), 20U);
  EXPECT_EQ(json["gaps_left_out"], 980);
}

// The promise: HTML under 2 kB, the whole bundle under 5 kB.
void expect_small(const store::CellSummary& summary, const std::string& level) {
  const std::string html = summary_html(summary, level);
  const std::string text = summary_text(summary, level);
  const std::string json = summary_json(summary);
  EXPECT_LT(html.size(), 2000U) << html;
  EXPECT_LT(html.size() + text.size() + json.size(), 5000U) << json;
}

TEST(Summary, OfADeathNamesCausePeakAndLimitInFull) {
  store::CellSummary summary = made_up::summary();
  summary.outcome = record::Outcome::kDied;
  summary.outcome_text =
      "killed by the memory limit (peak 261119 MiB of 261120 MiB): that of step batch of the Slurm "
      "job 1234567";
  EXPECT_NE(summary_text(summary, "").find("died (" + summary.outcome_text + ")"),
            std::string::npos);
  EXPECT_NE(summary_html(summary, "").find(summary.outcome_text), std::string::npos);
  const auto cell = nlohmann::json::parse(summary_json(summary))["cell"];
  EXPECT_EQ(cell["outcome"], "died");
  EXPECT_EQ(cell["outcome_text"], summary.outcome_text);
}

TEST(SummaryBundle, IsSmall) {
  expect_small(made_up::summary(), "process");
  expect_small(made_up::summary(), "node");
  expect_small(made_up::summary(), "");
}

TEST(SummaryBundle, IsSmallWhenMuchIsWrong) {
  store::CellSummary summary = made_up::summary();
  summary.outcome = record::Outcome::kDied;
  summary.outcome_text = "killed by signal 9 (SIGKILL)";
  summary.gaps = {{1, 2, "the sampler was stopped or starved"}, {3, 4, "the sampler was lost"}};
  summary.sample_age_s = 2.5;
  summary.notes["process"] =
      "lower bound: only the kernel process and the children it waited for were seen";
  summary.notes["process.io_read_bytes"] = "incomplete: not permitted: io of 2 children is refused";
  summary.levels[0].memory_bytes.upper_bound = true;
  summary.levels[0].memory_bytes.peak_lower_bound = true;
  expect_small(summary, "process");
  expect_small(summary, "");
}

}  // namespace
}  // namespace view
