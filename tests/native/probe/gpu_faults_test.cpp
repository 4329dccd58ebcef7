// Drivers that are absent, old, reloaded, hung, or lie.

#include "probe/gpu.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fake_driver.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

using GpuFaults = GpuTest;

// ---- drivers that aren't there ----

TEST_F(GpuFaults, LeavesNoThreadWhereThereIsNoLibrary) {
  GpuOptions options;
  options.library = "libnvidia-ml-of-nobody.so.1";
  const std::size_t threads = entries_of("/proc/self/task");
  GpuTick tick(options);
  ASSERT_TRUE(tick.gives_up());
  EXPECT_TRUE(eventually([&] { return entries_of("/proc/self/task") == threads; }));
  EXPECT_TRUE(tick.gpus.columns().empty());
  EXPECT_EQ(tick.gpus.most_columns(), 0U);
  ASSERT_EQ(tick.missing.list().size(), 1U);
  EXPECT_EQ(tick.note("node.gpu")->state, State::kNotSupported);
  EXPECT_TRUE(tick.reason("node.gpu")
                  .starts_with("no NVIDIA driver (libnvidia-ml-of-nobody.so.1 can't be loaded: "
                               "libnvidia-ml-of-nobody.so.1"))
      << tick.reason("node.gpu");
}

TEST_F(GpuFaults, SaysWhyTheDriverCannotBeUsed) {
  struct Row {
    const char* answer;
    State state;
    const char* words;
  };
  for (const auto& [answer, state, words] :
       {Row{"9", State::kNotSupported, "the NVIDIA driver isn't loaded"},
        Row{"18", State::kNotSupported, "of different versions"},
        Row{"4", State::kNotPermitted, "it isn't permitted"},
        Row{"999", State::kNotYet, "error 999"}}) {
    FakeDriver driver;
    driver.add_card(0);
    driver.set("fail nvmlInit_v2 -", answer);
    GpuTick tick(driver.options());
    ASSERT_TRUE(tick.gives_up());
    EXPECT_TRUE(tick.gpus.columns().empty());
    EXPECT_EQ(tick.missing.list().size(), 1U);
    ASSERT_NE(tick.note("node.gpu"), nullptr);
    EXPECT_EQ(tick.note("node.gpu")->state, state);
    EXPECT_NE(tick.reason("node.gpu").find(words), std::string::npos) << tick.reason("node.gpu");
    EXPECT_EQ(driver.calls("nvmlInit_v2"), 1);
  }
}

TEST_F(GpuFaults, GivesUpWhereThereAreNoCards) {
  FakeDriver driver;
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.gives_up());
  EXPECT_EQ(tick.reason("node.gpu"), "the NVIDIA driver has no cards");
  EXPECT_EQ(driver.calls("nvmlShutdown"), 1);
}

// ---- drivers that know less ----

TEST_F(GpuFaults, ReadsWhatAnOldDriverHas) {
  FakeDriver driver("old");
  driver.add_card(0);
  driver.set("gpu0.compute", "20:1000 21:50000 30:500");
  GpuTick tick(driver.options());
  tick.gpus.set_processes(std::vector<pid_t>{20, 30});
  ASSERT_TRUE(tick.becomes("process.gpu0.memory_bytes", 1500));
  EXPECT_EQ(tick.value("node.gpu0.memory_bytes"), 10 * kGibibyte + 1000);  // with what is reserved
  EXPECT_EQ(tick.value("node.gpu0.temperature_celsius"), 60);
  EXPECT_EQ(tick.value("node.gpu0.energy_millijoules"), unknown(State::kNotSupported));
  EXPECT_EQ(
      tick.reason("node.gpu0.energy_millijoules"),
      "nvmlDeviceGetTotalEnergyConsumption: this version of the library has no such function");
  EXPECT_EQ(tick.value("process.gpu0.utilization_percent"), unknown(State::kNotSupported));
}

TEST_F(GpuFaults, ToleratesALibraryWithHardlyAnyFunction) {
  FakeDriver driver("bare");
  driver.add_card(0);
  GpuTick tick(driver.options());
  tick.gpus.set_processes(std::vector<pid_t>{20});
  ASSERT_TRUE(tick.becomes("process.gpu0.memory_bytes", unknown(State::kNotSupported)));
  for (const auto& [name, value] : tick.read()) {
    EXPECT_EQ(value, unknown(State::kNotSupported)) << name;
    EXPECT_NE(tick.note(name), nullptr) << name;
  }
}

TEST_F(GpuFaults, TakesTheOlderMemoryFunctionWhenTheNewerOneRefuses) {
  for (const auto* answer : {"3", "13", "25", "2"}) {
    FakeDriver driver;
    driver.add_card(0);
    driver.set("fail nvmlDeviceGetMemoryInfo_v2 *", answer);
    GpuTick tick(driver.options());
    ASSERT_TRUE(tick.becomes("node.gpu0.memory_bytes", 10 * kGibibyte + 1000)) << answer;
    EXPECT_TRUE(tick.missing.list().empty());
  }
}

// ---- cards that refuse ----

TEST_F(GpuFaults, GivesEachValueItsOwnState) {
  FakeDriver driver;
  driver.add_card(0);
  driver.add_card(1);
  driver.set("fail nvmlDeviceGetPowerUsage gpu0", "4");
  driver.set("fail nvmlDeviceGetTotalEnergyConsumption gpu0", "3");
  driver.set("fail nvmlDeviceGetUtilizationRates gpu0", "999");
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu1.memory_bytes", 20 * kGibibyte));
  const auto values = tick.read();
  EXPECT_EQ(values.at("node.gpu0.power_milliwatts"), unknown(State::kNotPermitted));
  EXPECT_EQ(values.at("node.gpu0.energy_millijoules"), unknown(State::kNotSupported));
  EXPECT_EQ(values.at("node.gpu0.utilization_percent"), unknown(State::kNotYet));
  EXPECT_EQ(values.at("node.gpu0.memory_bytes"), 10 * kGibibyte);
  EXPECT_EQ(values.at("node.gpu0.temperature_celsius"), 60);
  EXPECT_EQ(values.at("node.gpu1.power_milliwatts"), 250'001);
  EXPECT_EQ(tick.reason("node.gpu0.power_milliwatts"),
            "nvmlDeviceGetPowerUsage: it isn't permitted");
  EXPECT_EQ(tick.reason("node.gpu0.utilization_percent"),
            "nvmlDeviceGetUtilizationRates: error 999");
  EXPECT_EQ(tick.missing.list().size(), 4U);  // both utilisations
  driver.set("fail nvmlDeviceGetUtilizationRates gpu0", "");
  EXPECT_TRUE(tick.becomes("node.gpu0.utilization_percent", 30));
}

TEST_F(GpuFaults, ShowsACardThatCannotBeOpened) {
  FakeDriver driver;
  driver.add_card(0);
  driver.add_card(1);
  driver.set("fail nvmlDeviceGetHandleByIndex_v2 gpu0", "4");
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu1.memory_bytes", 20 * kGibibyte));
  EXPECT_EQ(tick.value("node.gpu0.memory_bytes"), unknown(State::kNotPermitted));
  EXPECT_EQ(tick.note("node.gpu0")->state, State::kNotPermitted);
  EXPECT_EQ(tick.devices[0].text, "can't be opened: it isn't permitted");
  EXPECT_EQ(driver.calls("nvmlInit_v2"), 1);
}

TEST_F(GpuFaults, LosesOneCardAndGoesOnWithTheOthers) {
  FakeDriver driver;
  driver.add_card(0);
  driver.add_card(1);
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", 250'000));
  driver.set({{"fail nvmlDeviceGetPowerUsage gpu0", "15"}, {"gpu1.power", "99"}});
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", unknown(State::kVanished)));
  ASSERT_TRUE(tick.becomes("node.gpu1.power_milliwatts", 99));
  for (const auto& [name, value] : tick.read()) {
    if (name.find("gpu0") == std::string::npos) continue;
    EXPECT_EQ(value, unknown(State::kVanished)) << name;
  }
  EXPECT_EQ(tick.note("node.gpu0")->state, State::kVanished);
  EXPECT_EQ(tick.missing.list().size(), 1U);
  EXPECT_EQ(driver.calls("nvmlInit_v2"), 1);
}

// ---- reloads ----

TEST_F(GpuFaults, OpensTheDriverAgainWhenItWasReloaded) {
  FakeDriver driver;
  driver.add_card(0);
  auto options = driver.options();
  options.reload_pause_ns = 0;
  GpuTick tick(options);
  ASSERT_TRUE(tick.becomes("node.gpu0.energy_millijoules", 7'000'000));
  driver.set({{"gpu0.energy", "500"}, {"load", "2"}});
  // What the driver counts anew comes on top.
  ASSERT_TRUE(tick.becomes("node.gpu0.energy_millijoules", 7'000'500));
  EXPECT_EQ(driver.calls("nvmlInit_v2"), 2);
  EXPECT_EQ(tick.note("node.gpu_driver")->state, State::kVanished);
  EXPECT_EQ(tick.devices.size(), 1U);
  driver.set({{"gpu0.energy", "600"}, {"load", "3"}});
  // This time it goes on counting.
  ASSERT_TRUE(tick.becomes("node.gpu0.energy_millijoules", 7'000'600));
}

TEST_F(GpuFaults, RepeatsAnEnergyThatFalls) {
  FakeDriver driver;
  driver.add_card(0);
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu0.energy_millijoules", 7'000'000));
  driver.set({{"gpu0.energy", "500"}, {"gpu0.power", "1"}});
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", 1));
  EXPECT_EQ(tick.value("node.gpu0.energy_millijoules"), 7'000'000);
}

TEST_F(GpuFaults, WaitsBetweenTwoTriesToOpenTheDriver) {
  FakeDriver driver;
  driver.add_card(0);
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", 250'000));
  driver.set("fail nvmlInit_v2 -", "9");
  driver.set("load", "2");
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", unknown(State::kVanished)));
  // Rounds go on meanwhile: each says that the values are gone.
  const std::int64_t begin_ns = base::monotonic_ns();
  while (base::monotonic_ns() - begin_ns < kSecond / 5) tick.read();
  EXPECT_EQ(tick.value("node.gpu0.power_milliwatts"), unknown(State::kVanished));
  EXPECT_EQ(driver.calls("nvmlInit_v2"), 1);
  EXPECT_EQ(driver.calls("nvmlShutdown"), 1);
}

TEST_F(GpuFaults, OpensTheDriverAgainWhenAllCardsAreLost) {
  FakeDriver driver;
  driver.add_card(0);
  driver.add_card(1);
  auto options = driver.options();
  options.reload_pause_ns = 0;
  GpuTick tick(options);
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", 250'000));
  driver.set("fail nvmlDeviceGetMemoryInfo_v2 *", "15");
  ASSERT_TRUE(tick.becomes("node.gpu1.power_milliwatts", unknown(State::kVanished)));
  ASSERT_TRUE(eventually([&] { return tick.read(), driver.calls("nvmlInit_v2") > 1; }));
  driver.set("fail nvmlDeviceGetMemoryInfo_v2 *", "");
  ASSERT_TRUE(tick.becomes("node.gpu1.power_milliwatts", 250'001));
  EXPECT_TRUE(tick.becomes("node.gpu0.power_milliwatts", 250'000));
}

TEST_F(GpuFaults, DescribesADeviceAgainWhenAnotherCardHasItsName) {
  FakeDriver driver;
  driver.add_card(0);
  auto options = driver.options();
  options.reload_pause_ns = 0;
  GpuTick tick(options);
  ASSERT_TRUE(tick.becomes("node.gpu0.energy_millijoules", 7'000'000));
  driver.set({{"gpu0.uuid", FakeDriver::uuid(7)}, {"gpu0.energy", "8000000"}, {"load", "2"}});
  ASSERT_TRUE(tick.becomes("node.gpu0.energy_millijoules", 15'000'000));
  ASSERT_EQ(tick.devices.size(), 2U);
  EXPECT_EQ(tick.devices[1].id, FakeDriver::uuid(7));
  EXPECT_EQ(tick.shown(), "gpu0");
}

// ---- drivers that hang ----

TEST_F(GpuFaults, CallsOldValuesUnknownWhenTheDriverHangs) {
  FakeDriver driver;
  driver.add_card(0);
  const auto fifo = driver.fifo();
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", 250'000));
  driver.set({{"block nvmlDeviceGetPowerUsage gpu0", fifo}, {"note", "nvmlDeviceGetPowerUsage"}});
  ASSERT_TRUE(eventually([&] {
    tick.read();
    return driver.calls("nvmlDeviceGetPowerUsage") == 1;
  }));
  tick.read(kPatience + 30 * kSecond);
  ASSERT_NE(tick.note("node.gpu_driver"), nullptr);
  EXPECT_EQ(tick.reason("node.gpu_driver"), "the GPU driver doesn't answer");
  EXPECT_EQ(tick.note("node.gpu_driver")->state, State::kNotYet);
  for (const auto& [name, value] : tick.read(kPatience + 30 * kSecond)) {
    EXPECT_EQ(value, unknown(State::kNotYet)) << name;
  }
  EXPECT_EQ(tick.missing.list().size(), 1U);
  EXPECT_EQ(GpuOptions().patience_ns, 2 * kSecond);
  driver.set("block nvmlDeviceGetPowerUsage gpu0", "");
  driver.set("gpu0.power", "77");
  release(fifo);
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", 77));
}

TEST_F(GpuFaults, EndsWhileTheDriverHangs) {
  FakeDriver driver;
  driver.add_card(0);
  const auto fifo = driver.fifo();
  driver.set("block nvmlInit_v2 -", fifo);
  {
    GpuTick tick(driver.options());
    ASSERT_TRUE(eventually([&] { return driver.calls("nvmlInit_v2") == 1; }));
    EXPECT_TRUE(tick.read(1 * kSecond).empty());
    EXPECT_TRUE(tick.missing.list().empty());  // to wake sleeping cards takes its time
    tick.read(60 * kSecond);
    EXPECT_NE(tick.note("node.gpu_driver"), nullptr);
  }
  EXPECT_EQ(driver.calls("nvmlShutdown"), 0);
  release(fifo);  // so that the thread, left to itself, ends
  EXPECT_TRUE(eventually([&] { return driver.calls("nvmlShutdown") == 1; }));
}

TEST_F(GpuFaults, BlocksAllSignalsOnItsThread) {
  FakeDriver driver;
  driver.add_card(0);
  const auto fifo = driver.fifo();
  driver.set("block nvmlInit_v2 -", fifo);
  GpuTick tick(driver.options());
  ASSERT_TRUE(eventually([&] { return driver.calls("nvmlInit_v2") == 1; }));
  bool found = false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      // All but SIGKILL, SIGSTOP, and the two that the C library keeps for itself.
      if (line.starts_with("SigBlk:\tfffffff")) found = true;
    }
  }
  EXPECT_TRUE(found);
  release(fifo);
}

TEST_F(GpuFaults, LeavesTheDriverAloneForMostOfTheTime) {
  FakeDriver driver;
  driver.add_card(0);
  driver.set("note", "nvmlDeviceGetPowerUsage");
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", 250'000));
  const std::int64_t begin_ns = base::monotonic_ns();
  const int before = driver.calls("nvmlDeviceGetPowerUsage");
  while (base::monotonic_ns() - begin_ns < kSecond / 5) tick.read();
  EXPECT_LE(driver.calls("nvmlDeviceGetPowerUsage") - before, 20 + 1);
}

TEST_F(GpuFaults, ReadsOnceASecondAlsoUnasked) {
  FakeDriver driver;
  driver.add_card(0);
  driver.set("note", "nvmlDeviceGetPowerUsage");
  MissingList missing;
  const Gpus gpus(driver.options(), missing);
  EXPECT_TRUE(eventually([&] { return driver.calls("nvmlDeviceGetPowerUsage") >= 4; }));
  EXPECT_TRUE(gpus.running());
}

// ---- hostile answers ----

TEST_F(GpuFaults, BelievesNoImpossibleNumber) {
  FakeDriver driver;
  driver.add_card(0);
  driver.set("gpu0.utilization", "101 4294967295");
  driver.set("gpu0.memory", "18446744073709551615 18446744073709551614 0");
  driver.set("gpu0.power", "4294967295");
  driver.set("gpu0.energy", "18446744073709551614");
  driver.set("gpu0.temperature", "4294967286");  // -10
  driver.set("gpu0.sm_clock", "4294967295");
  driver.set("gpu0.memory_clock", "2147483647");
  driver.set("gpu0.throttle", "18446744073709551615");
  driver.set("gpu0.compute", "20:18446744073709551615");
  driver.set("gpu0.samples", "20:101");
  GpuTick tick(driver.options());
  tick.gpus.set_processes(std::vector<pid_t>{20});
  ASSERT_TRUE(tick.becomes("process.gpu0.memory_bytes", unknown(State::kNotSupported)));
  EXPECT_EQ(tick.read(),
            (std::map<std::string, record::Value>{
                {"node.gpu0.utilization_percent", unknown(State::kNotYet)},
                {"node.gpu0.memory_utilization_percent", unknown(State::kNotSupported)},
                {"node.gpu0.memory_bytes", unknown(State::kNotYet)},
                {"node.gpu0.capacity_memory_bytes", unknown(State::kNotSupported)},
                {"node.gpu0.power_milliwatts", unknown(State::kNotSupported)},
                {"node.gpu0.energy_millijoules", unknown(State::kNotYet)},
                {"node.gpu0.temperature_celsius", unknown(State::kNotYet)},
                {"node.gpu0.clock_hz", unknown(State::kNotSupported)},
                {"node.gpu0.memory_clock_hz", 2'147'483'647'000'000},
                {"node.gpu0.throttle_reasons", (std::int64_t{1} << 60) - 1},
                {"process.gpu0.memory_bytes", unknown(State::kNotSupported)},
                {"process.gpu0.utilization_percent", unknown(State::kNotYet)}}));
  EXPECT_EQ(tick.devices[0].memory_bytes, unknown(State::kNotYet));
}

TEST_F(GpuFaults, CutsTextsThatHaveNoEnd) {
  FakeDriver driver;
  driver.add_card(0);
  driver.set("gpu0.name", std::string(500, 'x'));
  driver.set("gpu0.uuid", "GPU-\x1b[2J" + std::string(500, '\xff'));
  GpuTick tick(driver.options());
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", 250'000));
  EXPECT_EQ(tick.devices[0].model, std::string(96, 'x'));
  EXPECT_EQ(tick.devices[0].id, "GPU-?[2J" + std::string(88, '?'));
}

TEST_F(GpuFaults, TrustsNoCountOfTheDriver) {
  FakeDriver driver;
  driver.add_card(0);
  driver.set("gpu0.compute", "20:1000");
  driver.set("gpu0.compute_count", "4294967295");
  driver.set("gpu0.samples", "20:10");
  driver.set("gpu0.samples_count", "4294967295");
  driver.set("cards", "4294967295");
  GpuTick tick(driver.options());
  tick.gpus.set_processes(std::vector<pid_t>{20});
  ASSERT_TRUE(tick.becomes("node.gpu0.power_milliwatts", 250'000));
  EXPECT_EQ(tick.devices.size(), 16U);
  ASSERT_TRUE(eventually([&] { return tick.value("process.gpu0.memory_bytes") >= 0; }));
}

TEST_F(GpuFaults, SaysThatMoreProcessesThanItCanReadUseACard) {
  FakeDriver driver;
  driver.add_card(0);
  std::string many;
  for (int pid = 1; pid < 1200; ++pid) many += std::to_string(pid) + ":1 ";
  driver.set("gpu0.compute", many);
  driver.set("gpu0.graphics", many);
  GpuTick tick(driver.options());
  tick.gpus.set_processes(std::vector<pid_t>{20});
  ASSERT_TRUE(tick.says("process.gpu0.memory_bytes"));
  EXPECT_EQ(tick.value("process.gpu0.memory_bytes"), unknown(State::kNotYet));
}

}  // namespace
}  // namespace probe
