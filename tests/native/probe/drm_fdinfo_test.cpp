#include "probe/drm_fdinfo.hpp"

#include <gtest/gtest.h>

#include <string>

#include "drm_host.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

constexpr record::Value kUntold = unknown(State::kNotSupported);

const DrmEngine* engine(const DrmClient& client, std::string_view name) {
  for (const auto& one : client.engines()) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

TEST(DrmFdinfo, ReadsWhatAmdgpuTells) {
  const std::string text = amd_client("0000:c1:00.0", 217, 2068, 107'322'799,
                                      "drm-engine-compute:\t5 ns\ndrm-engine-dec:\t6 ns\n");
  const auto client = parse_drm_fdinfo(text);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->driver, "amdgpu");
  EXPECT_EQ(client->device, "0000:c1:00.0");
  EXPECT_EQ(client->id, 217);
  EXPECT_EQ(client->card_bytes, 2068 * 1024);
  EXPECT_EQ(client->main_bytes, 8192 * 1024);
  ASSERT_EQ(client->engines().size(), 3U);
  EXPECT_EQ(engine(*client, "gfx")->busy_ns, 107'322'799);
  EXPECT_EQ(engine(*client, "gfx")->capacity, 1);
  EXPECT_EQ(engine(*client, "gfx")->cycles, kUntold);
}

TEST(DrmFdinfo, CountsMemoryOnceThatNewerAmdgpuWritesTwice) {
  const auto client = parse_drm_fdinfo(
      "drm-driver:\tamdgpu\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\n"
      "drm-total-vram:\t100 KiB\ndrm-shared-vram:\t0\ndrm-memory-vram:\t60 KiB\n"
      "drm-resident-vram:\t60 KiB\ndrm-total-gtt:\t4 KiB\ndrm-resident-gtt:\t4 KiB\n"
      "drm-memory-gtt:\t4 KiB\ndrm-total-doorbell:\t8 KiB\ndrm-resident-doorbell:\t8 KiB\n");
  ASSERT_TRUE(client);
  EXPECT_EQ(client->card_bytes, 60 * 1024);
  EXPECT_EQ(client->main_bytes, 4 * 1024);
  EXPECT_TRUE(client->engines().empty());
}

TEST(DrmFdinfo, ReadsWhatI915Tells) {
  const std::string text = i915_client(39, 346'249, 50);
  const auto client = parse_drm_fdinfo(text);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->id, 39);
  EXPECT_EQ(client->card_bytes, kUntold);      // integrated: it has none
  EXPECT_EQ(client->main_bytes, 4000 * 1024);  // resident, not total; not the stolen
  ASSERT_EQ(client->engines().size(), 4U);     // the capacity is no engine of its own
  EXPECT_EQ(engine(*client, "render")->busy_ns, 346'249);
  EXPECT_EQ(engine(*client, "video")->busy_ns, 50);
  EXPECT_EQ(engine(*client, "video")->capacity, 2);
  EXPECT_EQ(engine(*client, "video-enhance")->capacity, 1);
}

TEST(DrmFdinfo, ReadsWhatXeTells) {
  const std::string text = xe_client(3, 28'257'900, 7'655'183'225);
  const auto client = parse_drm_fdinfo(text);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->card_bytes, 23992 * 1024);
  EXPECT_EQ(client->main_bytes, 192 * 1024);
  ASSERT_EQ(client->engines().size(), 2U);
  EXPECT_EQ(engine(*client, "ccs")->cycles, 28'257'900);
  EXPECT_EQ(engine(*client, "ccs")->total_cycles, 7'655'183'225);
  EXPECT_EQ(engine(*client, "ccs")->capacity, 4);
  EXPECT_EQ(engine(*client, "ccs")->busy_ns, kUntold);
}

TEST(DrmFdinfo, KnowsTheUnits) {
  const auto client = parse_drm_fdinfo(
      "drm-driver: x\ndrm-client-id: 1\ndrm-total-local0: 3 MiB\ndrm-total-system0: 17\n"
      "drm-total-gtt: 5 GiB\ndrm-maxfreq-gpu: 800 MHz\ndrm-maxfreq-b: 7 KHz\ndrm-maxfreq-c: 9\n");
  ASSERT_TRUE(client);
  EXPECT_EQ(client->card_bytes, 3 << 20);
  EXPECT_EQ(client->main_bytes, 17);  // a unit that isn't known counts as nothing
  EXPECT_EQ(engine(*client, "gpu")->max_hz, 800'000'000);
  EXPECT_EQ(engine(*client, "b")->max_hz, 7000);
  EXPECT_EQ(engine(*client, "c")->max_hz, 9);
}

TEST(DrmFdinfo, IsEmptyForDescriptorsOfSomethingElse) {
  EXPECT_FALSE(parse_drm_fdinfo(""));
  EXPECT_FALSE(parse_drm_fdinfo("pos:\t0\nflags:\t02\nmnt_id:\t9\n"));
  EXPECT_FALSE(parse_drm_fdinfo("drm-driver: i915\n"));  // no client
  EXPECT_FALSE(parse_drm_fdinfo("drm-client-id: 4\n"));  // no driver
  // amdgpu of Linux 5.14 to 5.18
  EXPECT_FALSE(
      parse_drm_fdinfo("pdev:\t0000:03:00.0\npasid:\t32769\nvram mem:\t4 kB\ngfx0: 1.5%\n"));
}

TEST(DrmFdinfo, StaysInBoundsWithHostileText) {
  std::string text = "drm-driver: amdgpu\ndrm-client-id: 1\ndrm-driver\ndrm-\n:\n: :\ndrm-:5\n";
  for (int i = 0; i < 100; ++i) {
    text += "drm-engine-e" + std::to_string(i) + ": " + std::to_string(i) + " ns\n";
    text += "drm-memory-vram" + std::to_string(i) + ": 999999999999999999 KiB\n";
    text += "drm-memory-local" + std::to_string(i) + ": 1125899906842624 KiB\n";
  }
  text += "drm-engine-capacity-e0: 0\ndrm-engine-capacity-e1: -3\ndrm-engine-e1: -5 ns\n";
  text += "drm-engine-e2: 99999999999999999999 ns\ndrm-engine-: 7 ns\ndrm-memory-: 7 KiB";
  const auto client = parse_drm_fdinfo(text);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->engines().size(), kMostDrmEngines);
  EXPECT_EQ(engine(*client, "e0")->capacity, 1);
  EXPECT_EQ(engine(*client, "e1")->capacity, 1);
  EXPECT_EQ(engine(*client, "e1")->busy_ns, kUntold);
  EXPECT_EQ(engine(*client, "e2")->busy_ns, kUntold);
  EXPECT_EQ(engine(*client, ""), nullptr);
  EXPECT_EQ(client->card_bytes, kMostNumber);  // eight of the sixteen kinds have a number
}

}  // namespace
}  // namespace probe
