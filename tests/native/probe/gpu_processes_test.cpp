#include "probe/gpu_processes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_driver.hpp"
#include "probe/gpu_device.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

constexpr std::uint64_t kNowUs = 1'796'000'000'000'000;

// One card whose processes 20 and 30 are ours.
class GpuProcessesTest : public testing::Test {
 protected:
  void open() {
    driver_.add_card(0);
    nvml_ = std::make_unique<Nvml>(driver_.library());
    ASSERT_EQ(nvml_->init(), nvml::kSuccess);
    ASSERT_EQ(nvml_->handle_by_index(0, &device_), nvml::kSuccess);
    processes_ = std::make_unique<GpuProcesses>(driver_.host().root());
    processes_->set_ours({30, 20});
  }
  std::int64_t memory() {
    const auto share = processes_->memory_of(*nvml_, device_);
    return share.answer == nvml::kSuccess ? share.value : -static_cast<int>(share.answer);
  }
  std::int64_t utilization() {
    const auto share = processes_->utilization_of(*nvml_, device_, kNowUs);
    return share.answer == nvml::kSuccess ? share.value : -static_cast<int>(share.answer);
  }

  FakeDriver driver_;
  std::unique_ptr<Nvml> nvml_;
  nvml::Device device_ = nullptr;
  std::unique_ptr<GpuProcesses> processes_;
};

using GpuProcessesOf = GpuProcessesTest;

TEST_F(GpuProcessesOf, HaveWhatTheyComputeAndDrawWithOnce) {
  open();
  EXPECT_EQ(memory(), 0);
  driver_.set("gpu0.compute", "20:1000 99:7");
  driver_.set("gpu0.graphics", "20:900 30:50 99:9");
  EXPECT_EQ(memory(), 1050);
}

TEST_F(GpuProcessesOf, AreCountedInEachSliceOfACard) {
  open();
  driver_.set("gpu0.compute", "20:1000:1:0 20:500:2:0 20:50:2:1");
  EXPECT_EQ(memory(), 1550);
}

TEST_F(GpuProcessesOf, AreReadFromEntriesOfAnySize) {
  open();
  for (const auto* bytes : {"16", "24", "32"}) {
    driver_.set("entry_bytes", bytes);
    for (const auto* others : {"", "98:7 99:8 "}) {
      driver_.set("gpu0.compute", std::string(others) + "20:1000:1:0 30:50:1:0");
      EXPECT_EQ(memory(), 1050) << bytes << others;
    }
    driver_.set("gpu0.compute", "20:1000:1:0");
    EXPECT_EQ(memory(), 1000) << bytes;
  }
}

TEST_F(GpuProcessesOf, AreReadAsPromisedWhereTheDriverClearsTheRest) {
  open();
  driver_.set("clears_entries", "1");
  driver_.set("gpu0.compute", "20:1000 99:7 30:50");
  EXPECT_EQ(memory(), 1050);
}

TEST_F(GpuProcessesOf, HaveNoMemoryWhereOneListAloneIsRefused) {
  open();
  driver_.set("gpu0.compute", "20:1000");
  driver_.set("fail nvmlDeviceGetGraphicsRunningProcesses_v3 *", "3");
  EXPECT_EQ(memory(), 1000);
  driver_.set("fail nvmlDeviceGetComputeRunningProcesses_v3 *", "4");
  EXPECT_EQ(memory(), -4);
}

TEST_F(GpuProcessesOf, SumUpWithoutOverflow) {
  open();
  const std::string most = std::to_string(std::int64_t{1} << 60);
  driver_.set("gpu0.compute", "20:" + most + " 30:" + most);
  EXPECT_EQ(memory(), std::int64_t{1} << 60);
  driver_.set("gpu0.compute", "20:9223372036854775807");
  EXPECT_EQ(memory(), -999);
}

TEST_F(GpuProcessesOf, UseTheShareOfTheirNewestSamples) {
  open();
  EXPECT_EQ(utilization(), 0);  // nobody was busy
  driver_.set("gpu0.samples", "20:70:5 20:10:9 20:60:1 99:20 30:3");
  EXPECT_EQ(utilization(), 13);
  driver_.set("gpu0.samples", "20:70 30:60");
  EXPECT_EQ(utilization(), 100);
  driver_.set("fail nvmlDeviceGetProcessUtilization *", "3");
  EXPECT_EQ(utilization(), -3);
}

// ---- namespaces ----

TEST(PidNamespace, IsTheDriversInTheFirstOne) {
  const FakeDriver driver;
  PidNamespace pids(driver.host().root());
  EXPECT_EQ(pids.state(), State::kMeasured);
  pids.listed(4242);
  pids.end_round(0);
  pids.listed(4242);
  pids.end_round(100 * kSecond);
  EXPECT_EQ(pids.state(), State::kMeasured);
}

TEST(PidNamespace, IsOursWhenAllNumbersExistHere) {
  const FakeDriver driver;
  driver.namespace_link("pid:[4026532833]");
  driver.host().write_process(20, 1);
  PidNamespace pids(driver.host().root());
  pids.end_round(0);
  EXPECT_EQ(pids.state(), State::kNotYet);  // no evidence
  pids.listed(20);
  pids.listed(0);
  pids.end_round(1);
  EXPECT_EQ(pids.state(), State::kMeasured);
  pids.end_round(2);
  EXPECT_EQ(pids.state(), State::kMeasured);
}

TEST(PidNamespace, IsAnotherWhenANumberDoesNotExistForTwoSeconds) {
  const FakeDriver driver;
  driver.namespace_link("pid:[4026532833]");
  driver.host().write_process(20, 1);
  PidNamespace pids(driver.host().root());
  const auto round = [&](std::initializer_list<std::uint32_t> listed, std::int64_t now_ns) {
    for (const auto pid : listed) pids.listed(pid);
    pids.end_round(now_ns);
    return pids.state();
  };
  EXPECT_EQ(round({20, 645'400}, 0), State::kNotYet);
  EXPECT_EQ(round({20, 645'400}, kSecond), State::kNotYet);
  EXPECT_EQ(round({20}, 2 * kSecond), State::kMeasured);  // it has ended
  EXPECT_EQ(round({645'400, 20}, 3 * kSecond), State::kNotYet);
  EXPECT_EQ(round({645'000, 645'400}, 4 * kSecond), State::kNotYet);
  EXPECT_EQ(round({645'400}, 5 * kSecond), State::kNotSupported);
  EXPECT_EQ(round({20}, 6 * kSecond), State::kNotSupported);  // for good
  EXPECT_EQ(PidNamespace("/nowhere").state(), State::kNotYet);
}

// In a container: the list in the container's numbers, the samples in the machine's.
TEST_F(GpuProcessesOf, AreUnknownWhereTheDriverCountsOthers) {
  driver_.namespace_link("pid:[4026532833]");
  driver_.host().write_process(20, 1);
  open();
  GpuCard card;
  card.handle = device_;
  GpuDevice device(card, {false, true});
  MissingList missing;
  const auto round = [&](std::int64_t now_ns) {
    device.read(*nvml_, missing);
    device.read_processes(*nvml_, *processes_, kNowUs);
    processes_->end_round(now_ns);
    device.judge_processes(*processes_, missing);
    return std::vector(device.values().begin(), device.values().end());
  };
  using Values = std::vector<record::Value>;
  EXPECT_EQ(round(0), (Values{unknown(State::kNotYet), unknown(State::kNotYet)}));
  driver_.set("gpu0.compute", "20:1000");
  driver_.set("gpu0.samples", "645400:13");
  EXPECT_EQ(round(kSecond), (Values{1000, unknown(State::kNotYet)}));
  EXPECT_EQ(round(3 * kSecond), (Values{1000, unknown(State::kNotSupported)}));
  ASSERT_EQ(missing.list().size(), 1U);
  EXPECT_EQ(missing.list()[0].name, "process.gpu0.utilization_percent");
  EXPECT_EQ(missing.list()[0].reason, "the driver counts processes of another pid namespace");
  driver_.set("gpu0.compute", "20:0");  // it lists the process and loses its memory
  EXPECT_EQ(round(4 * kSecond), (Values{unknown(State::kNotYet), unknown(State::kNotSupported)}));
}

}  // namespace
}  // namespace probe
