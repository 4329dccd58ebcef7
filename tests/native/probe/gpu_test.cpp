#include "probe/gpu.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "fake_driver.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

using Gpu = GpuTest;

void write_environ(const FakeDriver& driver, const std::string& list) {
  using std::string_literals::operator""s;
  driver.host().write("proc/20/environ",
                      "HOME=/\0CUDA_VISIBLE_DEVICES="s + list + "\0CUDA_DEVICE_ORDER=X\0"s);
}

TEST_F(Gpu, ReadsAllColumnsOfACard) {
  FakeDriver driver;
  driver.add_card(0);
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu0.utilization_percent", 30));
  tick.gpus.set_processes(std::vector<pid_t>{20, 30});
  driver.set({{"gpu0.compute", "20:1000 31:50000 30:500"}, {"gpu0.samples", "20:25 31:60 30:5"}});
  ASSERT_TRUE(tick.becomes("process.gpu0.memory_bytes", 1500));
  EXPECT_EQ(tick.read(), (std::map<std::string, record::Value>{
                             {"node.gpu0.utilization_percent", 30},
                             {"node.gpu0.memory_utilization_percent", 10},
                             {"node.gpu0.memory_bytes", 10 * kGibibyte},
                             {"node.gpu0.capacity_memory_bytes", 80 * kGibibyte},
                             {"node.gpu0.power_milliwatts", 250'000},
                             {"node.gpu0.energy_millijoules", 7'000'000},
                             {"node.gpu0.temperature_celsius", 60},
                             {"node.gpu0.clock_hz", 1'400'000'000},
                             {"node.gpu0.memory_clock_hz", 1'500'000'000},
                             {"node.gpu0.throttle_reasons", 4},
                             {"process.gpu0.memory_bytes", 1500},
                             {"process.gpu0.utilization_percent", 30}}));
  EXPECT_TRUE(tick.missing.list().empty()) << tick.missing.list()[0].reason;
  ASSERT_EQ(tick.devices.size(), 1U);
  const auto& device = tick.devices[0];
  EXPECT_EQ(device.name, "gpu0");
  EXPECT_EQ(device.kind, "NVML");
  EXPECT_EQ(device.model, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(device.id, FakeDriver::uuid(0));
  EXPECT_EQ(device.index, 0);
  EXPECT_EQ(device.memory_bytes, 80 * kGibibyte);
  EXPECT_EQ(device.text, "");
  for (const auto& column : tick.gpus.columns()) {
    EXPECT_EQ(column.kind == record::Kind::kCounter, column.name.ends_with("energy_millijoules"));
  }
}

TEST_F(Gpu, HasTheColumnsOfTheLevelsThatAreWanted) {
  FakeDriver driver;
  driver.add_card(0);
  for (const bool node : {true, false}) {
    auto options = driver.options();
    options.levels = {node, !node};
    GpuTick tick(options);
    ASSERT_TRUE(eventually([&] { return !tick.read().empty(); }));
    EXPECT_EQ(tick.gpus.columns().size(), node ? 10U : 2U);
    for (const auto& column : tick.gpus.columns()) {
      EXPECT_TRUE(column.name.starts_with(node ? "node.gpu0." : "process.gpu0.")) << column.name;
    }
    EXPECT_GE(tick.gpus.most_columns(), 16 * tick.gpus.columns().size());
  }
}

// Which cards are shown, in which order, for what CUDA_VISIBLE_DEVICES.
struct Visible {
  std::optional<std::string> list;
  std::string shown;
  std::vector<std::int64_t> used_gibibytes;
  friend void PrintTo(const Visible& visible, std::ostream* out) {
    *out << visible.list.value_or("(not set)");
  }
};

class GpuVisible : public GpuTest, public testing::WithParamInterface<Visible> {};

TEST_P(GpuVisible, ShowsTheCardsThatTheProcessSees) {
  FakeDriver driver;
  for (int card = 0; card < 4; ++card) driver.add_card(card);
  driver.host().write("proc/20/environ", "HOME=/");
  if (GetParam().list) write_environ(driver, *GetParam().list);
  auto options = driver.options();
  options.root_pid = 20;
  GpuTick tick(options);
  if (GetParam().shown.empty()) {
    ASSERT_TRUE(tick.says("node.gpu"));
    EXPECT_TRUE(tick.read().empty());
    EXPECT_EQ(tick.note("process.gpu"), nullptr);
    EXPECT_EQ(tick.reason("node.gpu"),
              "CUDA_VISIBLE_DEVICES shows the process no card of this node");
    return;
  }
  ASSERT_TRUE(eventually([&] { return !tick.read().empty(); }));
  EXPECT_EQ(tick.shown(), GetParam().shown);
  std::vector<std::int64_t> used;
  for (const auto& device : tick.devices) {
    used.push_back(tick.value("node." + device.name + ".memory_bytes") / kGibibyte);
    EXPECT_EQ(device.name, "gpu" + std::to_string(device.index));
    EXPECT_EQ(device.id, FakeDriver::uuid(static_cast<int>(device.index)));
  }
  EXPECT_EQ(used, GetParam().used_gibibytes);
  EXPECT_TRUE(tick.missing.list().empty());
}

INSTANTIATE_TEST_SUITE_P(
    CasesOfTheWrongCard, GpuVisible,
    testing::Values(Visible{"3,1", "gpu3 gpu1", {40, 20}},
                    Visible{FakeDriver::uuid(2), "gpu2", {30}},
                    Visible{FakeDriver::uuid(2).substr(0, 4 + 8), "gpu2", {30}},
                    Visible{"", "", {}}, Visible{"-1", "", {}},
                    Visible{std::nullopt, "gpu0 gpu1 gpu2 gpu3", {10, 20, 30, 40}}));

TEST_F(Gpu, WarnsOnceOfAnEntryThatMatchesNothing) {
  FakeDriver driver;
  driver.add_card(0);
  driver.add_card(1);
  write_environ(driver, "1,GPU-dead,0");
  auto options = driver.options();
  options.root_pid = 20;
  GpuTick tick(options);
  ASSERT_TRUE(tick.becomes("node.gpu1.memory_bytes", 20 * kGibibyte));
  EXPECT_EQ(tick.shown(), "gpu1");
  EXPECT_EQ(tick.missing.list().size(), 1U);
  EXPECT_NE(tick.reason("process.gpu").find("'GPU-dead'"), std::string::npos);
}

TEST_F(Gpu, ReadsALargeEnvironment) {
  FakeDriver driver;
  driver.add_card(0);
  driver.add_card(1);
  driver.host().write("proc/20/environ",
                      "A=" + std::string(1 << 20, 'x') + '\0' + "CUDA_VISIBLE_DEVICES=1" + '\0');
  auto options = driver.options();
  options.root_pid = 20;
  GpuTick tick(options);
  ASSERT_TRUE(tick.becomes("node.gpu1.memory_bytes", 20 * kGibibyte));
  EXPECT_EQ(tick.shown(), "gpu1");
}

TEST_F(Gpu, SaysWhenItCannotKnowWhichCardsAreVisible) {
  FakeDriver driver;
  driver.add_card(0);
  auto options = driver.options();
  options.root_pid = 21;
  GpuTick tick(options);
  ASSERT_TRUE(tick.becomes("node.gpu0.memory_bytes", 10 * kGibibyte));
  ASSERT_NE(tick.note("process.gpu"), nullptr);
  EXPECT_TRUE(tick.reason("process.gpu").ends_with("can't be read: all cards are shown"));
}

TEST_F(Gpu, AddsCardsThatBecomeVisibleLaterAndCallsTheOthersVanished) {
  FakeDriver driver;
  for (int card = 0; card < 3; ++card) driver.add_card(card);
  write_environ(driver, "2");
  auto options = driver.options();
  options.root_pid = 20;
  GpuTick tick(options);
  ASSERT_TRUE(tick.becomes("node.gpu2.memory_bytes", 30 * kGibibyte));
  tick.gpus.set_visible_devices("1,2");
  ASSERT_TRUE(tick.becomes("node.gpu1.memory_bytes", 20 * kGibibyte));
  EXPECT_EQ(tick.shown(), "gpu2 gpu1");
  EXPECT_EQ(tick.value("node.gpu2.memory_bytes"), 30 * kGibibyte);
  tick.gpus.set_visible_devices("0");
  ASSERT_TRUE(tick.becomes("node.gpu0.memory_bytes", 10 * kGibibyte));
  EXPECT_EQ(tick.shown(), "gpu2 gpu1 gpu0");
  EXPECT_EQ(tick.value("node.gpu2.memory_bytes"), unknown(State::kVanished));
  EXPECT_EQ(tick.note("node.gpu2")->state, State::kVanished);
  tick.gpus.set_visible_devices(std::nullopt);
  ASSERT_TRUE(tick.becomes("node.gpu2.memory_bytes", 30 * kGibibyte));
  EXPECT_EQ(tick.shown(), "gpu2 gpu1 gpu0");
  EXPECT_EQ(tick.devices.size(), 3U);
}

TEST_F(Gpu, BeginsWithoutCardsWhenTheyBecomeVisibleLater) {
  FakeDriver driver;
  driver.add_card(0);
  write_environ(driver, "");
  auto options = driver.options();
  options.root_pid = 20;
  GpuTick tick(options);
  ASSERT_TRUE(tick.says("node.gpu"));
  tick.gpus.set_visible_devices("0");
  ASSERT_TRUE(tick.becomes("node.gpu0.memory_bytes", 10 * kGibibyte));
}

TEST_F(Gpu, SaysWhenTheNumbersOfUnequalCardsAreUncertain) {
  FakeDriver driver;
  driver.add_card(0);
  driver.add_card(1);
  driver.set("gpu1.name", "NVIDIA T4");
  write_environ(driver, "1");
  auto options = driver.options();
  options.root_pid = 20;
  GpuTick tick(options);
  ASSERT_TRUE(tick.becomes("node.gpu1.memory_bytes", 20 * kGibibyte));
  EXPECT_NE(tick.devices[0].text.find("CUDA_DEVICE_ORDER"), std::string::npos);
  driver.host().write("proc/20/environ", std::string_view("CUDA_VISIBLE_DEVICES=1\0"
                                                          "CUDA_DEVICE_ORDER=PCI_BUS_ID\0",
                                                          52));
  GpuTick certain(options);
  ASSERT_TRUE(certain.becomes("node.gpu1.memory_bytes", 20 * kGibibyte));
  EXPECT_EQ(certain.devices[0].text, "");
}

TEST_F(Gpu, MeasuresSixteenCards) {
  FakeDriver driver;
  for (int card = 0; card < 16; ++card) driver.add_card(card);
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu15.memory_bytes", 160 * kGibibyte));
  EXPECT_EQ(tick.gpus.columns().size(), 16U * 12U);
  EXPECT_EQ(tick.devices.size(), 16U);
  EXPECT_TRUE(tick.missing.list().empty());
}

TEST_F(Gpu, LeavesOutTheSeventeenthAndSaysSo) {
  FakeDriver driver;
  for (int card = 0; card < 17; ++card) driver.add_card(card);
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu15.memory_bytes", 160 * kGibibyte));
  EXPECT_EQ(tick.devices.size(), 16U);
  EXPECT_EQ(tick.reason("node.gpu_count"), "only the first 16 of 17 cards are measured");
}

// ---- slices ----

TEST_F(Gpu, ShowsTheSliceOfTheJobAndNoUtilisation) {
  for (const bool refused : {false, true}) {
    FakeDriver driver;
    driver.add_card(0);
    driver.set("gpu0.memory",
               std::to_string(80 * kGibibyte) + " " + std::to_string(70 * kGibibyte) + " 0");
    driver.add_slice(0, 0, 19 * kGibibyte, 20 * kGibibyte);
    driver.add_slice(0, 1, 5 * kGibibyte, 20 * kGibibyte);
    if (refused) {
      driver.set("fail nvmlDeviceGetMemoryInfo gpu0", "4");
      driver.set("fail nvmlDeviceGetMemoryInfo_v2 gpu0", "4");
    }
    driver.set("gpu0_mig1.compute", "20:4000:2:0");
    write_environ(driver, FakeDriver::mig_uuid(1));
    auto options = driver.options();
    options.root_pid = 20;
    GpuTick tick(options);
    tick.gpus.set_processes(std::vector<pid_t>{20});
    ASSERT_TRUE(tick.becomes("process.gpu0_mig1.memory_bytes", 4000));
    EXPECT_EQ(tick.read(),
              (std::map<std::string, record::Value>{
                  {"node.gpu0_mig1.utilization_percent", unknown(State::kNotSupported)},
                  {"node.gpu0_mig1.memory_bytes", 5 * kGibibyte},
                  {"node.gpu0_mig1.capacity_memory_bytes", 20 * kGibibyte},
                  {"process.gpu0_mig1.memory_bytes", 4000},
                  {"process.gpu0_mig1.utilization_percent", 0}}));
    EXPECT_NE(tick.reason("node.gpu0_mig1.utilization_percent").find("MIG"), std::string::npos);
    EXPECT_EQ(tick.reason("node.gpu0_mig1"),
              "MIG: power, temperature and clocks are of the whole card only");
    ASSERT_EQ(tick.devices.size(), 1U);
    EXPECT_EQ(tick.devices[0].name, "gpu0_mig1");
    EXPECT_EQ(tick.devices[0].id, FakeDriver::mig_uuid(1));
    EXPECT_EQ(tick.devices[0].memory_bytes, 20 * kGibibyte);
    EXPECT_EQ(tick.devices[0].text, "MIG slice 1g.20gb of gpu0");
  }
}

TEST_F(Gpu, ShowsACardInMigModeWithItsSlices) {
  FakeDriver driver;
  driver.add_card(0);
  driver.add_card(1);
  driver.add_slice(0, 0, 1, 2);
  driver.add_slice(0, 6, 3, 4);
  driver.set("most_slices", "4000000000");
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu0_mig6.memory_bytes", 3));
  EXPECT_EQ(tick.shown(), "gpu0 gpu0_mig0 gpu0_mig6 gpu1");
  EXPECT_EQ(tick.value("node.gpu0.utilization_percent"), unknown(State::kNotSupported));
  EXPECT_NE(tick.reason("node.gpu0.utilization_percent").find("MIG"), std::string::npos);
  EXPECT_EQ(tick.value("node.gpu0.power_milliwatts"), 250'000);
  EXPECT_EQ(tick.devices[0].text, "divided into MIG slices");
}

TEST_F(Gpu, FindsASliceByItsOldName) {
  FakeDriver driver;
  driver.add_card(0);
  driver.add_slice(0, 0, 1, 2);
  driver.add_slice(0, 1, 3, 4);
  driver.set("gpu0_mig1.instances", "5 0");
  write_environ(driver, "MIG-" + FakeDriver::uuid(0) + "/5/0");
  auto options = driver.options();
  options.root_pid = 20;
  GpuTick tick(options);
  ASSERT_TRUE(tick.becomes("node.gpu0_mig1.memory_bytes", 3));
  EXPECT_EQ(tick.shown(), "gpu0_mig1");
}

TEST_F(Gpu, AllocatesNothingOnTheTick) {
  FakeDriver driver;
  driver.add_card(0);
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", 250'000));
  std::vector<record::Value> values(tick.gpus.columns().size());
  const std::vector<pid_t> pids{1, 2, 3};
  tick.gpus.set_processes(pids);
  const std::int64_t before = allocations();
  for (int i = 0; i < 1000; ++i) {
    tick.gpus.columns_changed();
    tick.gpus.read(values, Turn{base::monotonic_ns(), i % 10 == 0, {}});
    tick.gpus.set_processes(pids);
  }
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace probe
