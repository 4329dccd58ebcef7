#include "tools/catalogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "probe/host_tree.hpp"

namespace tools {
namespace {

using record::State;
using ::testing::HasSubstr;

probe::SamplerOptions ourselves() {
  probe::SamplerOptions options;
  options.root_pid = ::getpid();
  return options;
}

TEST(UnitOf, IsTheNamesEnding) {
  EXPECT_EQ(unit_of("process.cpu_time_ns"), "ns");
  EXPECT_EQ(unit_of("node.core3.cpu_time_ns"), "ns");
  EXPECT_EQ(unit_of("process.rss_bytes"), "bytes");
  EXPECT_EQ(unit_of("process.io_read_ops"), "ops");
  EXPECT_EQ(unit_of("node.capacity_millicores"), "millicores");
  EXPECT_EQ(unit_of("node.gpu0.power_milliwatts"), "milliwatts");
  EXPECT_EQ(unit_of("node.gpu0.busy_percent"), "percent");
  EXPECT_EQ(unit_of("node.gpu0.clock_hz"), "Hz");
  EXPECT_EQ(unit_of("process.threads"), "count");
  EXPECT_EQ(unit_of("node.returns"), "count");
  EXPECT_EQ(unit_of(""), "count");
}

TEST(LevelOf, StandsBeforeTheFirstDot) {
  EXPECT_EQ(level_of("node.core3.cpu_time_ns"), "node");
  EXPECT_EQ(level_of("process.threads"), "process");
  EXPECT_EQ(level_of("job"), "job");
}

TEST(FindReason, TakesTheMetricItsFamilyItsLevelOrItsDevices) {
  const std::vector<record::Missing> missing{
      {0, "node.io_read_bytes", State::kNotSupported, "metric"},
      {0, "node.net_*", State::kNotPermitted, "family"},
      {0, "job", State::kNotSupported, "level"},
      {0, "node.cpu_time_ns", State::kNotSupported, "devices"},
      {0, "user.gpu", State::kNotSupported, "prefix"},
  };
  const auto reason = [&](std::string_view name) {
    const record::Missing* found = find_reason(missing, name);
    return found != nullptr ? found->reason : "";
  };
  EXPECT_EQ(reason("node.io_read_bytes"), "metric");
  EXPECT_EQ(reason("node.io_write_bytes"), "");
  EXPECT_EQ(reason("node.net_receive_bytes"), "family");
  EXPECT_EQ(reason("node.network"), "");
  EXPECT_EQ(reason("job.cpu_time_ns"), "level");
  EXPECT_EQ(reason("jobs.cpu_time_ns"), "");
  EXPECT_EQ(reason("node.core3.cpu_time_ns"), "devices");
  EXPECT_EQ(reason("node.cpu_time_ns"), "devices");
  EXPECT_EQ(reason("user.gpu_memory_bytes"), "prefix");
  EXPECT_EQ(reason("user.gpus"), "");
}

TEST(FindReason, TakesTheNewestAndForgetsWhatWasTakenBack) {
  std::vector<record::Missing> missing{{1, "node.a", State::kVanished, "old"},
                                       {2, "node.a", State::kNotPermitted, "new"}};
  EXPECT_EQ(find_reason(missing, "node.a")->reason, "new");
  missing.push_back({3, "node.a", State::kMeasured, ""});
  EXPECT_EQ(find_reason(missing, "node.a"), nullptr);
  missing.push_back({4, "node.a", State::kMeasured, "lower bound: one was hidden"});
  EXPECT_EQ(find_reason(missing, "node.a")->time_ns, 4);
}

TEST(StateText, SaysTheStateAndWhy) {
  const record::Missing refused{0, "a.b", State::kNotPermitted, "another user's"};
  const record::Missing bound{0, "a.b", State::kMeasured, "lower bound: one was hidden"};
  EXPECT_EQ(state_text(7, nullptr), "measured");
  EXPECT_EQ(state_text(7, &refused), "measured");
  EXPECT_EQ(state_text(7, &bound), "measured, lower bound: one was hidden");
  EXPECT_EQ(state_text(record::unknown(State::kNotPermitted), &refused),
            "not permitted: another user's");
  EXPECT_EQ(state_text(record::unknown(State::kNotYet), nullptr), "not yet");
  EXPECT_EQ(state_text(record::unknown(State::kNotYet), &bound), "not yet");
}

TEST(Look, HasEveryColumnOfThisMachineInOneSource) {
  const Catalogue found = look(ourselves());
  ASSERT_GE(found.sources.size(), 2U);
  EXPECT_EQ(found.sources[0].name, "tree");
  EXPECT_EQ(found.sources[1].name, "node");
  std::size_t next = 0;
  for (const SourceEntry& source : found.sources) {
    EXPECT_EQ(source.first, next) << source.name;
    EXPECT_FALSE(source.origin.empty()) << source.name;
    next += source.number;
  }
  EXPECT_EQ(next, found.columns.size());
  EXPECT_EQ(found.values.size(), found.columns.size());
  const auto cpu = std::ranges::find(found.columns, "process.cpu_time_ns", &record::Column::name);
  EXPECT_GT(found.values[static_cast<std::size_t>(cpu - found.columns.begin())], 0);
  EXPECT_EQ(found.machine.root_pid, ::getpid());
}

TEST(Look, ThrowsWithoutTheProcess) {
  probe::HostTree tree;
  probe::SamplerOptions options;
  options.root = tree.root();
  options.root_pid = 77;
  EXPECT_THROW(look(options), base::Error);
}

TEST(Look, NamesWhatAMachineDoesNotHave) {
  probe::HostTree tree;
  tree.write("proc/stat", probe::HostTree::stat_text(2));
  tree.write_process(77, 1);
  probe::SamplerOptions options;
  options.root = tree.root();
  options.root_pid = 77;
  options.user_level = options.job_level = false;
  const Catalogue found = look(options);
  const auto memory = std::ranges::find(found.columns, "node.memory_bytes", &record::Column::name);
  ASSERT_NE(memory, found.columns.end());
  const auto value = found.values[static_cast<std::size_t>(memory - found.columns.begin())];
  EXPECT_THAT(state_text(value, find_reason(found.missing, memory->name)),
              HasSubstr("not supported: cannot open /proc/meminfo"));
}

TEST(MeasureCosts, GivesEachSourceWhatItsReadTakes) {
  const probe::SamplerOptions options = ourselves();
  Catalogue found = look(options);
  measure_costs(options, found);
  for (const SourceEntry& source : found.sources) {
    EXPECT_GE(source.cost.part_ns, 0) << source.name;
    EXPECT_GE(source.cost.full_ns, 0) << source.name;
  }
  EXPECT_GT(found.sources[1].cost.part_ns, 1000);  // the node: four files at least
}

}  // namespace
}  // namespace tools
