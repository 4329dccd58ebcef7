#include "probe/drm_cards.hpp"

#include <gtest/gtest.h>

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "drm_host.hpp"
#include "probe/drm_sensors.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

std::string made(std::string_view kind) {
  return JUMPER_TEST_DATA "/hosts/made/" + std::string(kind);
}

TEST(DrmCards, FindsTheEightCardsOfAServerAndNotItsBmc) {
  const DrmCards cards = find_drm_cards(made("amdgpu"));
  ASSERT_EQ(cards.list.size(), 8U);
  EXPECT_EQ(cards.list[0].name(), "drm1");
  EXPECT_EQ(cards.list[7].name(), "drm8");
  EXPECT_EQ(cards.list[0].driver, "amdgpu");
  EXPECT_EQ(cards.list[0].slot, "0000:c1:00.0");
  EXPECT_EQ(cards.list[0].model, "AMD INSTINCT MI250X");
  EXPECT_EQ(cards.list[0].id, "2f1c0b7ad43e9051");
  EXPECT_EQ(cards.list[0].memory_bytes, 68'702'699'520);
  const auto card_of = [&](std::string_view name) -> std::size_t {
    for (const auto& node : cards.nodes) {
      if (node.name == name) return node.card;
    }
    return 999;
  };
  EXPECT_EQ(card_of("card0"), DrmNode::kForeign);
  EXPECT_EQ(card_of("card8"), 7U);
  EXPECT_EQ(card_of("renderD128"), 0U);
  EXPECT_EQ(card_of("renderD135"), 7U);
}

TEST(DrmCards, NamesByVendorAndDeviceWhatHasNoName) {
  const DrmCards cards = find_drm_cards(made("i915"));
  ASSERT_EQ(cards.list.size(), 1U);  // connectors are no cards
  EXPECT_EQ(cards.list[0].name(), "drm1");
  EXPECT_EQ(cards.list[0].model, "8086:46a6");
  EXPECT_EQ(cards.list[0].id, "0000:00:02.0");
  EXPECT_EQ(cards.list[0].memory_bytes, record::unknown(record::State::kNotSupported));
}

TEST(DrmCards, AreNoneWhereOnlyAVirtualCardOrNothingIs) {
  EXPECT_TRUE(find_drm_cards(made("ast")).list.empty());
  EXPECT_TRUE(find_drm_cards(made("cores128")).list.empty());
  const DrmHost host("");
  int number = 0;
  for (const char* driver : {"virtio_gpu", "virtio-pci", "bochs-drm", "mgag200",
                             "simple-framebuffer", "nvidia", "nouveau", "vc4", "AMDGPU", ""}) {
    host.write("sys/class/drm/card" + std::to_string(number++) + "/device/uevent",
               "DRIVER=" + std::string(driver) + "\nPCI_SLOT_NAME=0000:00:01.0\n");
  }
  EXPECT_TRUE(find_drm_cards(host.root()).list.empty());
}

TEST(DrmCards, TakeHostileNamesAndTextsAsTheyAre) {
  const DrmHost host("");
  const std::string uevent = "DRIVER=amdgpu\nPCI_SLOT_NAME=" + std::string(9000, 'x') + "\n";
  for (const char* name : {"card0", "card00", "card99999", "card-1", "card1x", "card", "renderDx",
                           "card99999999999999999999999"}) {
    host.write("sys/class/drm/" + std::string(name) + "/device/uevent", uevent);
  }
  host.write("sys/class/drm/card0/device/product_name", std::string(9000, 'm'));
  host.write("sys/class/drm/card0/device/mem_info_vram_total", "-5\n");
  const DrmCards cards = find_drm_cards(host.root());
  ASSERT_EQ(cards.list.size(), 1U);
  EXPECT_LE(cards.list[0].slot.size(), 128U);
  EXPECT_LE(cards.list[0].model.size(), 128U);
  EXPECT_FALSE(record::is_known(cards.list[0].memory_bytes));
}

TEST(DrmCards, ReadsTheValueBehindAName) {
  EXPECT_EQ(uevent_value("A=1\nDRIVER=xe\nDRIVER_2=no\n", "DRIVER"), "xe");
  EXPECT_EQ(uevent_value("XDRIVER=xe\nDRIVER\n", "DRIVER"), "");
  EXPECT_EQ(uevent_value("", "DRIVER"), "");
}

// One card's sensors by its place in the list.
DrmValues sensors_of(const std::string& root, std::size_t place) {
  const DrmCards cards = find_drm_cards(root);
  return DrmSensors(root, cards.list.at(place)).read(0);
}

constexpr std::int64_t kNoFile = drm_unknown(DrmCause::kNoFile);

TEST(DrmSensors, ReadACardOfAServer) {
  EXPECT_EQ(sensors_of(made("amdgpu"), 0),
            (DrmValues{97, 31, 51'539'607'552, 14'852'096, 68'702'699'520, 412'000, kNoFile, 52,
                       1'700'000'000}));
  const DrmValues second_die = sensors_of(made("amdgpu"), 1);
  EXPECT_EQ(second_die[kDrmUtilization], 0);
  EXPECT_EQ(second_die[kDrmPower], kNoFile);  // the first die's has both
  EXPECT_EQ(second_die[kDrmClock], 800'000'000);
}

TEST(DrmSensors, ReadAnIntegratedCard) {
  EXPECT_EQ(sensors_of(made("i915"), 0), (DrmValues{kNoFile, kNoFile, kNoFile, kNoFile, kNoFile,
                                                    kNoFile, kNoFile, kNoFile, 650'000'000}));
}

TEST(DrmSensors, ReadAnArcCard) {
  EXPECT_EQ(sensors_of(made("xe"), 0), (DrmValues{kNoFile, kNoFile, kNoFile, kNoFile, kNoFile,
                                                  kNoFile, 7'654'321, 61, 2'400'000'000}));
}

TEST(DrmSensors, TakeTheOtherSensorWhereTheFirstIsMissing) {
  const DrmHost host("amdgpu");
  const std::string hwmon = "sys/class/drm/card1/device/hwmon/hwmon3/";
  host.remove(hwmon + "power1_average");
  host.write(hwmon + "power1_input", "35999999\n");
  host.remove(hwmon + "temp1_input");
  host.write(hwmon + "temp2_input", "61999\n");
  host.write(hwmon + "freq1_input", "1695000000\n");
  const DrmValues values = sensors_of(host.root(), 0);
  EXPECT_EQ(values[kDrmPower], 35'999);
  EXPECT_EQ(values[kDrmTemperature], 61);
  EXPECT_EQ(values[kDrmClock], 1'695'000'000);
}

TEST(DrmSensors, DontWakeACardThatSleeps) {
  const DrmHost host("amdgpu");
  const std::string device = "sys/class/drm/card1/device/";
  for (const char* state : {"suspended\n", "suspending\n"}) {
    host.write(device + "power/runtime_status", state);
    const DrmValues values = sensors_of(host.root(), 0);
    for (std::size_t i = 0; i < kDrmSensors; ++i) {
      if (i == kDrmCapacity || i == kDrmEnergy) continue;
      EXPECT_EQ(values[i], drm_unknown(DrmCause::kAsleep)) << i;
    }
    EXPECT_EQ(values[kDrmCapacity], 68'702'699'520);
    EXPECT_EQ(values[kDrmEnergy], kNoFile);
  }
  for (const char* state : {"active\n", "resuming\n", "unsupported\n", ""}) {
    host.write(device + "power/runtime_status", state);
    EXPECT_EQ(sensors_of(host.root(), 0)[kDrmUtilization], 97) << state;
  }
}

TEST(DrmSensors, DontKeepACardAwakeThatMayFallAsleep) {
  const DrmHost host("amdgpu");
  const std::string device = "sys/class/drm/card1/device/";
  host.write(device + "power/control", "auto\n");
  host.write(device + "power/autosuspend_delay_ms", "5000\n");
  const DrmCards cards = find_drm_cards(host.root());
  DrmSensors sensors(host.root(), cards.list[0]);
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  const auto utilization_at = [&](std::int64_t second, const char* in_file) {
    host.write(device + "gpu_busy_percent", in_file);
    return sensors.read(second * kSecondNs)[kDrmUtilization];
  };
  EXPECT_EQ(utilization_at(100, "97\n"), 97);  // it works: it won't sleep
  EXPECT_EQ(utilization_at(101, "0\n"), 0);
  EXPECT_EQ(utilization_at(102, "1\n"), 0);  // wasn't read
  EXPECT_EQ(utilization_at(107, "1\n"), 0);
  EXPECT_EQ(utilization_at(108, "0\n"), 0);  // was read: 6.5 s later
  host.write(device + "mem_info_vram_used", "777\n");
  EXPECT_EQ(utilization_at(109, "33\n"), 33);  // somebody uses it
  EXPECT_EQ(utilization_at(110, "0\n"), 0);
  host.write(device + "power/autosuspend_delay_ms", "-1\n");  // it never sleeps
  EXPECT_EQ(utilization_at(117, "0\n"), 0);
  EXPECT_EQ(utilization_at(118, "5\n"), 5);
  host.write(device + "power/autosuspend_delay_ms", "5000\n");
  host.write(device + "power/control", "on\n");
  EXPECT_EQ(utilization_at(119, "0\n"), 0);
  EXPECT_EQ(utilization_at(120, "6\n"), 6);
}

TEST(DrmSensors, CallACardGoneThatWasPulledAndGoOnWhenItIsBack) {
  const DrmHost host("amdgpu");
  const DrmCards cards = find_drm_cards(host.root());
  DrmSensors sensors(host.root(), cards.list[0]);
  EXPECT_EQ(sensors.read(0)[kDrmUtilization], 97);
  std::filesystem::rename(host.path("sys/class/drm/card1"), host.path("away"));
  for (const auto value : sensors.read(0)) EXPECT_EQ(value, drm_unknown(DrmCause::kGone));
  // Another card with its number.
  std::filesystem::copy(host.path("sys/class/drm/card2"), host.path("sys/class/drm/card1"),
                        std::filesystem::copy_options::recursive);
  for (const auto value : sensors.read(0)) EXPECT_EQ(value, drm_unknown(DrmCause::kGone));
  host.remove("sys/class/drm/card1");
  std::filesystem::rename(host.path("away"), host.path("sys/class/drm/card1"));
  std::filesystem::rename(host.path("sys/class/drm/card1/device/hwmon/hwmon3"),
                          host.path("sys/class/drm/card1/device/hwmon/hwmon77"));
  EXPECT_EQ(sensors.read(0)[kDrmUtilization], 97);
  EXPECT_EQ(sensors.read(0)[kDrmPower], 412'000);
}

TEST(DrmSensors, GiveNothingThatCantBeTrue) {
  const DrmHost host("amdgpu");
  const std::string device = "sys/class/drm/card1/device/";
  constexpr std::int64_t kOdd = drm_unknown(DrmCause::kOdd);
  for (const char* text : {"101\n", "65535\n", "-1\n", "busy\n", "99999999999999999999\n", "\n"}) {
    host.write(device + "gpu_busy_percent", text);
    EXPECT_EQ(sensors_of(host.root(), 0)[kDrmUtilization], kOdd) << text;
  }
  host.write(device + "gpu_busy_percent", "");
  host.write(device + "hwmon/hwmon3/temp1_input", "-3000\n");
  host.write(device + "hwmon/hwmon3/power1_average", "4294967274999999999999\n");
  host.write(device + "pp_dpm_sclk", "0: 500Mhz\n1: 800Mhz\n");
  const DrmValues values = sensors_of(host.root(), 0);
  EXPECT_EQ(values[kDrmUtilization], drm_unknown(DrmCause::kNoAnswer));
  EXPECT_EQ(values[kDrmTemperature], kOdd);
  EXPECT_EQ(values[kDrmPower], kOdd);
  EXPECT_EQ(values[kDrmClock], kOdd);
}

TEST(DrmSensors, SayWhatMayNotBeRead) {
  const DrmHost host("amdgpu");
  ASSERT_EQ(::chmod(host.root().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(host.path("sys/class/drm/card1/device/gpu_busy_percent").c_str(), 0), 0);
  const DrmCards cards = find_drm_cards(host.root());
  DrmSensors sensors(host.root(), cards.list[0]);
  const int before = ::setfsuid(65534);  // root may read everything; nobody may not
  const DrmValues values = sensors.read(0);
  ::setfsuid(static_cast<uid_t>(before));
  EXPECT_EQ(values[kDrmUtilization], drm_unknown(DrmCause::kRefused));
  EXPECT_EQ(values[kDrmMemoryUtilization], 31);
}

TEST(DrmSensors, NeverLetEnergyFall) {
  const DrmHost host("xe");
  const std::string file = "sys/class/drm/card0/device/hwmon/hwmon4/energy2_input";
  const DrmCards cards = find_drm_cards(host.root());
  DrmSensors sensors(host.root(), cards.list[0]);
  EXPECT_EQ(sensors.read(0)[kDrmEnergy], 7'654'321);
  host.write(file, "7655321000\n");
  EXPECT_EQ(sensors.read(0)[kDrmEnergy], 7'655'321);
  host.write(file, "7655000000\n");  // a little less: inexact
  EXPECT_EQ(sensors.read(0)[kDrmEnergy], 7'655'321);
  host.write(file, "7655322000\n");
  EXPECT_EQ(sensors.read(0)[kDrmEnergy], 7'655'322);
  host.write(file, "50000\n");  // its driver was loaded again
  EXPECT_EQ(sensors.read(0)[kDrmEnergy], 7'655'322 + 50);
  host.write(file, "?\n");
  EXPECT_EQ(sensors.read(0)[kDrmEnergy], drm_unknown(DrmCause::kOdd));
  host.write(file, "60000\n");
  EXPECT_EQ(sensors.read(0)[kDrmEnergy], 7'655'322 + 60);
}

TEST(DpmClock, IsTheOneWithTheStar) {
  EXPECT_EQ(parse_dpm_clock("0: 500Mhz \n1: 800Mhz *\n2: 1700Mhz \n"), 800'000'000);
  EXPECT_EQ(parse_dpm_clock("S: 19Mhz *\n0: 615Mhz \n1: 800Mhz \n"), 19'000'000);
  EXPECT_EQ(parse_dpm_clock("0: 1402MHz*"), 1'402'000'000);
  for (const char* text : {"", "*", "1: Mhz *", "1: 8x0Mhz *", "1 800Mhz *", "0: 500Mhz\n",
                           "1: 99999999999999Mhz *", "1: -5Mhz *"}) {
    EXPECT_LT(parse_dpm_clock(text), 0) << text;
  }
}

}  // namespace
}  // namespace probe
