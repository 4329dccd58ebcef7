#include "probe/nvml_library.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "fake_driver.hpp"

namespace probe {
namespace {

using record::State;

TEST(Nvml, SaysWhyALibraryCannotBeLoaded) {
  const Nvml nvml("libnvidia-ml-of-nobody.so.1");
  EXPECT_FALSE(nvml.loaded());
  EXPECT_NE(nvml.reason().find("libnvidia-ml-of-nobody.so.1"), std::string::npos);
  std::uint32_t count = 7;
  EXPECT_EQ(nvml.count(&count), nvml::kFunctionNotFound);
  EXPECT_EQ(count, 7U);
}

// Fault: X8
TEST(Nvml, LooksForABareNameNowhereInTheCurrentFolder) {
  const FakeDriver driver;
  const auto before = std::filesystem::current_path();
  std::filesystem::copy_file(driver.library(), driver.host().root() + "/libjumper-planted.so.1");
  std::filesystem::current_path(driver.host().root());
  EXPECT_FALSE(Nvml("libjumper-planted.so.1").loaded());
  EXPECT_TRUE(Nvml("./libjumper-planted.so.1").loaded());
  std::filesystem::current_path(before);
}

TEST(Nvml, CallsTheNewestNameThereIs) {
  const FakeDriver driver;
  const Nvml nvml(driver.library());
  ASSERT_TRUE(nvml.loaded());
  EXPECT_EQ(nvml.count.name(), "nvmlDeviceGetCount_v2");
  EXPECT_EQ(nvml.compute_processes.name(), "nvmlDeviceGetComputeRunningProcesses_v3");
  EXPECT_EQ(nvml.throttle_reasons.name(), "nvmlDeviceGetCurrentClocksEventReasons");
  FakeDriver old("old");
  old.add_card(0);
  Nvml nvml_of_2014(old.library());
  EXPECT_EQ(nvml_of_2014.count.name(), "nvmlDeviceGetCount");
  EXPECT_EQ(nvml_of_2014.pci_info.name(), "nvmlDeviceGetPciInfo");
  EXPECT_EQ(nvml_of_2014.init(), nvml::kSuccess);
  std::uint32_t count = 0;
  EXPECT_EQ(nvml_of_2014.count(&count), nvml::kSuccess);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(nvml_of_2014.energy(nullptr, nullptr), nvml::kFunctionNotFound);
  EXPECT_EQ(nvml_of_2014.energy.name(), "nvmlDeviceGetTotalEnergyConsumption");
}

TEST(Nvml, ShutsDownWhatItHasInitialisedAndNothingElse) {
  FakeDriver driver;
  {
    Nvml(driver.library()).init();
  }
  EXPECT_EQ(driver.calls("nvmlShutdown"), 1);
  {
    const Nvml never(driver.library());
  }
  driver.set("fail nvmlInit_v2 -", "9");
  {
    Nvml refused(driver.library());
    EXPECT_EQ(refused.init(), nvml::kDriverNotLoaded);
  }
  EXPECT_EQ(driver.calls("nvmlShutdown"), 1);
}

TEST(Nvml, KnowsWhatAnAnswerMeansForAValue) {
  EXPECT_EQ(state_of(nvml::kSuccess), State::kMeasured);
  EXPECT_EQ(state_of(nvml::kNotSupported), State::kNotSupported);
  EXPECT_EQ(state_of(nvml::kFunctionNotFound), State::kNotSupported);
  EXPECT_EQ(state_of(nvml::kNoPermission), State::kNotPermitted);
  EXPECT_EQ(state_of(nvml::kGpuIsLost), State::kVanished);
  EXPECT_EQ(state_of(nvml::kUnknown), State::kNotYet);
  EXPECT_EQ(state_of(static_cast<nvml::Return>(-7)), State::kNotYet);
  for (int code = -1; code < 1000; ++code) {
    EXPECT_FALSE(words_of(static_cast<nvml::Return>(code)).empty());
  }
}

// A process of its own, with the loader's own search.
TEST(Nvml, IsFoundWhereTheLoaderLooks) {
  if (std::getenv("JUMPER_NVML_BY_NAME") != nullptr) {  // that process
    Nvml nvml(Nvml::kLibrary);
    ASSERT_TRUE(nvml.loaded()) << nvml.reason();
    EXPECT_EQ(nvml.init(), nvml::kSuccess);
    return;
  }
  const FakeDriver driver;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "JUMPER_NVML_BY_NAME=1 LD_LIBRARY_PATH='" +
                              std::string(JUMPER_FAKE_NVML_FOLDER) + "/today' '" + program +
                              "' --gtest_filter=Nvml.IsFoundWhereTheLoaderLooks >&2";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(driver.calls("nvmlInit_v2"), 1);
}

}  // namespace
}  // namespace probe
