#include "probe/drm_gpus.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "actor.hpp"
#include "allocations.hpp"
#include "drm_host.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

constexpr std::int64_t kSilentNs = 20'000 * kMilli;  // longer than any test waits

struct Reader {
  explicit Reader(const std::string& root, std::int64_t silent_ns = kSilentNs, bool node = true,
                  bool process = true)
      : gpus({root, node, process, 2 * kMilli, silent_ns}, missing) {}

  std::map<std::string, record::Value> read() {
    std::vector<record::Value> values(gpus.columns().size());
    gpus.read(values, Turn{base::monotonic_ns(), true, buffer});
    std::map<std::string, record::Value> named;
    for (std::size_t i = 0; i < values.size(); ++i) named[gpus.columns()[i].name] = values[i];
    return named;
  }
  record::Value value(const std::string& name) { return read().at(name); }
  bool becomes(const std::string& name, record::Value expected) {
    return eventually([&] { return value(name) == expected; });
  }
  [[nodiscard]] std::string why(std::string_view name) const {
    for (const auto& one : missing.list()) {
      if (one.name == name) return one.reason;
    }
    return "";
  }

  std::vector<char> buffer;
  MissingList missing;
  DrmGpus gpus;
};

TEST(DrmGpus, ReadAServerOfEightCards) {
  const DrmHost host("amdgpu");
  Reader reader(host.root());
  EXPECT_EQ(reader.gpus.columns().size(), 8U * 12);
  ASSERT_TRUE(reader.becomes("node.drm8.clock_hz", 800'000'000));
  ASSERT_TRUE(reader.becomes("node.drm1.clock_hz", 1'700'000'000));
  const auto values = reader.read();
  EXPECT_EQ(values.at("node.drm1.utilization_percent"), 97);
  EXPECT_EQ(values.at("node.drm1.memory_utilization_percent"), 31);
  EXPECT_EQ(values.at("node.drm1.memory_bytes"), 51'539'607'552);
  EXPECT_EQ(values.at("node.drm1.main_memory_bytes"), 14'852'096);
  EXPECT_EQ(values.at("node.drm1.capacity_memory_bytes"), 68'702'699'520);
  EXPECT_EQ(values.at("node.drm1.power_milliwatts"), 412'000);
  EXPECT_EQ(values.at("node.drm1.temperature_celsius"), 52);
  EXPECT_EQ(values.at("node.drm1.energy_millijoules"), unknown(State::kNotSupported));
  EXPECT_EQ(values.at("node.drm8.power_milliwatts"), unknown(State::kNotSupported));
  EXPECT_EQ(reader.why("node.drm8.power_milliwatts"),
            "the card's driver shows no such number in sysfs");
  for (const auto& column : reader.gpus.columns()) {
    const bool counter =
        column.name.ends_with("energy_millijoules") || column.name.ends_with("busy_ns");
    EXPECT_EQ(column.kind, counter ? record::Kind::kCounter : record::Kind::kGauge) << column.name;
  }
}

TEST(DrmGpus, NameTheirDevices) {
  const DrmHost host("amdgpu");
  Reader reader(host.root());
  const auto devices = reader.gpus.take_devices();
  ASSERT_EQ(devices.size(), 8U);
  EXPECT_EQ(devices[2].name, "drm3");
  EXPECT_EQ(devices[2].kind, "DRM amdgpu");
  EXPECT_EQ(devices[2].model, "AMD INSTINCT MI250X");
  EXPECT_EQ(devices[2].id, "2f1c0b7ad43e9073");
  EXPECT_EQ(devices[2].index, 3);
  EXPECT_EQ(devices[2].memory_bytes, 68'702'699'520);
  EXPECT_EQ(devices[2].text, "at 0000:c9:00.0");
  EXPECT_TRUE(reader.gpus.take_devices().empty());
}

TEST(DrmGpus, SayWhatALaptopsCardCantTell) {
  const DrmHost host("i915");
  host.open(20, 5, "/dev/dri/renderD128", i915_client(4, 0, 0));
  Reader reader(host.root());
  reader.gpus.set_processes(std::vector<pid_t>{20});
  ASSERT_TRUE(reader.becomes("process.drm1.main_memory_bytes", 4000 * 1024));
  ASSERT_TRUE(reader.becomes("node.drm1.clock_hz", 650'000'000));
  EXPECT_EQ(reader.value("node.drm1.utilization_percent"), unknown(State::kNotSupported));
  EXPECT_EQ(reader.value("process.drm1.memory_bytes"), unknown(State::kNotSupported));
  EXPECT_EQ(reader.value("process.drm1.busy_ns"), 0);
  EXPECT_NE(reader.why("node.drm1.utilization_percent"), "");
  EXPECT_NE(reader.why("process.drm1.memory_bytes"), "");
  EXPECT_EQ(reader.gpus.take_devices().at(0).kind, "DRM i915");
}

TEST(DrmGpus, HaveNoColumnsWhereThereIsOnlyABmcOrNothing) {
  for (const char* kind : {"ast", "cores128"}) {
    Reader reader(JUMPER_TEST_DATA "/hosts/made/" + std::string(kind));
    EXPECT_TRUE(reader.gpus.columns().empty());
    EXPECT_TRUE(reader.gpus.take_devices().empty());
    ASSERT_EQ(reader.missing.list().size(), 1U);
    EXPECT_EQ(reader.missing.list()[0].name, "node.drm");
    EXPECT_EQ(reader.missing.list()[0].state, State::kNotSupported);
    reader.gpus.set_processes(std::vector<pid_t>{1});
    reader.read();
  }
}

TEST(DrmGpus, HaveTheColumnsOfTheirLevelsOnly) {
  const DrmHost host("xe");
  Reader nodes(host.root(), kSilentNs, true, false);
  EXPECT_EQ(nodes.gpus.columns().size(), 9U);
  EXPECT_TRUE(nodes.becomes("node.drm0.energy_millijoules", 7'654'321));
  Reader processes(host.root(), kSilentNs, false, true);
  EXPECT_EQ(processes.gpus.columns().size(), 3U);
  host.open(20, 5, "/dev/dri/renderD128", xe_client(4, 0, 1000));
  processes.gpus.set_processes(std::vector<pid_t>{20});
  EXPECT_TRUE(processes.becomes("process.drm0.memory_bytes", 23992 * 1024));
}

TEST(DrmGpus, FollowWhatChanges) {
  const DrmHost host("amdgpu");
  host.open(20, 5, "/dev/dri/renderD128", amd_client("0000:c1:00.0", 1, 100, 500));
  Reader reader(host.root());
  reader.gpus.set_processes(std::vector<pid_t>{20});
  ASSERT_TRUE(reader.becomes("process.drm1.memory_bytes", 100 * 1024));
  host.write("sys/class/drm/card1/device/gpu_busy_percent", "12\n");
  host.open(20, 5, "/dev/dri/renderD128", amd_client("0000:c1:00.0", 1, 300, 1200));
  EXPECT_TRUE(reader.becomes("node.drm1.utilization_percent", 12));
  EXPECT_TRUE(reader.becomes("process.drm1.memory_bytes", 300 * 1024));
  EXPECT_TRUE(reader.becomes("process.drm1.busy_ns", 700));
  host.close(20, 5);
  EXPECT_TRUE(reader.becomes("process.drm1.memory_bytes", 0));
  EXPECT_EQ(reader.value("process.drm1.busy_ns"), 700);
}

TEST(DrmGpus, CallACardVanishedThatIsUnpluggedWhileTheOthersGoOn) {
  const DrmHost host("amdgpu");
  Reader reader(host.root());
  ASSERT_TRUE(reader.becomes("node.drm1.utilization_percent", 97));
  host.remove("sys/class/drm/card1");
  ASSERT_TRUE(reader.becomes("node.drm1.utilization_percent", unknown(State::kVanished)));
  host.write("sys/class/drm/card3/device/gpu_busy_percent", "43\n");
  EXPECT_TRUE(reader.becomes("node.drm3.utilization_percent", 43));
}

TEST(DrmGpus, LetACardSleepAndSayItOnce) {
  const DrmHost host("amdgpu");
  host.write("sys/class/drm/card1/device/power/runtime_status", "suspended\n");
  Reader reader(host.root());
  ASSERT_TRUE(reader.becomes("node.drm1.capacity_memory_bytes", 68'702'699'520));
  EXPECT_EQ(reader.value("node.drm1.utilization_percent"), unknown(State::kNotYet));
  EXPECT_EQ(reader.value("node.drm1.energy_millijoules"), unknown(State::kNotSupported));
  EXPECT_EQ(reader.why("node.drm1.utilization_percent"), "the card sleeps");
  const std::size_t said = reader.missing.list().size();
  for (int i = 0; i < 10; ++i) reader.read();
  EXPECT_EQ(reader.missing.list().size(), said);
  host.write("sys/class/drm/card1/device/power/runtime_status", "active\n");
  EXPECT_TRUE(reader.becomes("node.drm1.utilization_percent", 97));
}

// A FIFO without a writer: who opens it hangs, as in a driver that waits for its card.
TEST(DrmGpus, LetADriverHangThatTakesOnlyItsOwnCardAlong) {
  const DrmHost host("amdgpu");
  const std::string file = host.path("sys/class/drm/card1/device/gpu_busy_percent");
  {
    Reader reader(host.root(), 300 * kMilli);
    ASSERT_TRUE(reader.becomes("node.drm1.utilization_percent", 97));
    host.remove("sys/class/drm/card1/device/gpu_busy_percent");
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    ASSERT_TRUE(eventually([&] {
      return reader.why("node.drm1.temperature_celsius") == "the card's driver doesn't answer" ||
             (reader.read(), false);
    }));
    EXPECT_EQ(reader.value("node.drm1.temperature_celsius"), unknown(State::kNotYet));
    host.write("sys/class/drm/card2/device/gpu_busy_percent", "44\n");
    EXPECT_TRUE(reader.becomes("node.drm2.utilization_percent", 44));

    const std::int64_t begin_ns = base::monotonic_ns();
    {
      const Reader another(host.root());
    }
    EXPECT_LT(base::monotonic_ns() - begin_ns, 5'000 * kMilli);
  }
  // Both threads that were left behind go on, and end.
  const base::File writer(::open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(writer.valid());
}

TEST(DrmGpus, SayALowerBoundOnce) {
  const DrmHost host("amdgpu");
  host.open(20, 5, "/dev/dri/renderD128", amd_client("0000:c1:00.0", 1, 100, 500));
  host.open(20, 6, "/dev/kfd", "");
  Reader reader(host.root());
  reader.gpus.set_processes(std::vector<pid_t>{20});
  ASSERT_TRUE(reader.becomes("process.drm1.busy_ns", unknown(State::kNotSupported)));
  EXPECT_NE(reader.why("process.drm1.busy_ns").find("/dev/kfd"), std::string::npos);

  host.open(21, 5, "/dev/dri/renderD129", amd_client("0000:c6:00.0", 2, 100, 500));
  reader.gpus.set_processes(std::vector<pid_t>(300, 21));
  ASSERT_TRUE(reader.becomes("process.drm2.memory_bytes", 100 * 1024));
  EXPECT_TRUE(reader.why("process.drm2.memory_bytes").starts_with("lower bound: "));
}

TEST(DrmGpus, AllocateNothingOnATickWhenAllIsSaid) {
  const DrmHost host("amdgpu");
  Reader reader(host.root());
  ASSERT_TRUE(reader.becomes("node.drm8.clock_hz", 800'000'000));
  std::vector<record::Value> values(reader.gpus.columns().size());
  reader.gpus.read(values, Turn{base::monotonic_ns(), true, reader.buffer});
  const std::vector<pid_t> pids{20};
  const std::int64_t before = allocations();
  for (int i = 0; i < 50; ++i) {
    reader.gpus.set_processes(pids);
    reader.gpus.read(values, Turn{base::monotonic_ns(), i % 10 == 0, reader.buffer});
  }
  EXPECT_EQ(allocations(), before);
}

TEST(DrmRounds, GoOnAfterARoundThatThrewAndEndWithTheObject) {
  auto count = std::make_shared<std::atomic<int>>(0);
  {
    const DrmRounds rounds(
        [count] {
          ++*count;
          throw std::bad_alloc();
        },
        kMilli / 10);
    ASSERT_TRUE(rounds.running());
    EXPECT_TRUE(eventually([&] { return *count > 3; }));
  }
  const int after = *count;
  const timespec pause{0, 20 * kMilli};
  ::nanosleep(&pause, nullptr);
  EXPECT_EQ(*count, after);
}

TEST(DrmRounds, TakeNoSignals) {
  auto blocked = std::make_shared<std::atomic<int>>(-1);
  const DrmRounds rounds(
      [blocked] {
        sigset_t set;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &set);
        *blocked = sigismember(&set, SIGTERM) + sigismember(&set, SIGCHLD);
      },
      kMilli);
  EXPECT_TRUE(eventually([&] { return *blocked == 2; }));
}

}  // namespace
}  // namespace probe
