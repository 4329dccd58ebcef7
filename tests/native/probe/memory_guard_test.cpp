#include "probe/memory_guard.hpp"

#include <gtest/gtest.h>

#include <array>

#include "host_tree.hpp"

namespace probe {
namespace {

constexpr std::int64_t kMib = 1 << 20;
constexpr std::int64_t kMs = 1'000'000;

std::string lines(std::int64_t anonymous, std::int64_t file, std::int64_t shared) {
  return "anon " + std::to_string(anonymous * kMib) + "\nfile " + std::to_string(file * kMib) +
         "\nshmem " + std::to_string(shared * kMib) + "\n";
}

// A group /job/step of version 2 below a limit of 1000 MiB, with one of its own of 2000 MiB.
class MemoryGuardTest : public testing::Test {
 protected:
  MemoryGuardTest() {
    host.write("proc/self/mountinfo",
               "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    host.write("proc/700/cgroup", "0::/job/step\n");
    host.write("proc/700/stat", "700 (python) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n");
    host.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    machine(900);
    limit("job", "1048576000");
    limit("job/step", "2097152000");
    use("job", 100, lines(100, 0, 0));
    use("job/step", 100, lines(100, 0, 0));
  }

  void machine(std::int64_t available) const {
    host.write("proc/meminfo", "MemTotal: 10240000 kB\nMemFree: 1 kB\nMemAvailable: " +
                                   std::to_string(available * 10240) + " kB\n");
  }
  void limit(const std::string& group, const std::string& bytes) const {
    host.write("sys/fs/cgroup/" + group + "/memory.max", bytes + "\n");
  }
  void use(const std::string& group, std::int64_t mib, const std::string& stat) const {
    host.write("sys/fs/cgroup/" + group + "/memory.current", std::to_string(mib * kMib) + "\n");
    host.write("sys/fs/cgroup/" + group + "/memory.stat", stat);
  }
  MemoryGuard begin(double percent = 90) {
    MemoryGuard guard(host.root(), 700);
    guard.begin_cell(percent, buffer);
    return guard;
  }

  HostTree host;
  std::array<char, 8192> buffer{};
};

TEST_F(MemoryGuardTest, TellsTheRoomBelowTheNearestLimitOfAllAncestors) {
  EXPECT_EQ(MemoryGuard(host.root(), 700).room_bytes(buffer), 900 * kMib);
  use("job", 950, lines(500, 450, 0));  // 450 MiB of files that can be given up
  EXPECT_EQ(MemoryGuard(host.root(), 700).room_bytes(buffer), 500 * kMib);
  use("job", 1100, lines(1100, 0, 0));
  EXPECT_EQ(MemoryGuard(host.root(), 700).room_bytes(buffer), 0);
  limit("job", "max");
  limit("job/step", "max");
  machine(3);
  EXPECT_EQ(MemoryGuard(host.root(), 700).room_bytes(buffer), std::int64_t{3} * 10240 * 1024);
}

TEST_F(MemoryGuardTest, SpeaksWhenTheNearestLimitOfAllAncestorsIsNear) {
  MemoryGuard guard = begin();
  EXPECT_FALSE(guard.look(90, kMs, buffer));
  use("job", 899, lines(899, 0, 0));
  EXPECT_FALSE(guard.look(90, kMs, buffer));
  use("job", 900, lines(900, 0, 0));
  const auto near = guard.look(90, 2 * kMs, buffer);
  ASSERT_TRUE(near);
  EXPECT_EQ(near->source, "the limit of control group /job");
  EXPECT_EQ(near->memory_bytes, 900 * kMib);
  EXPECT_EQ(near->limit_bytes, 1000 * kMib);
  EXPECT_EQ(near->time_ns, 2 * kMs);
}

TEST_F(MemoryGuardTest, IsNotAlarmedByPageCache) {
  MemoryGuard guard = begin();
  use("job", 1000, lines(100, 900, 0));
  EXPECT_FALSE(guard.look(90, kMs, buffer));
}

TEST_F(MemoryGuardTest, CountsSharedMemoryWhichIsCacheOnlyInName) {
  MemoryGuard guard = begin();
  use("job", 1000, lines(100, 900, 850));
  ASSERT_TRUE(guard.look(90, kMs, buffer));
}

TEST_F(MemoryGuardTest, SpeaksOnceForEachCell) {
  MemoryGuard guard = begin();
  use("job", 950, lines(950, 0, 0));
  EXPECT_TRUE(guard.look(90, kMs, buffer));
  EXPECT_FALSE(guard.look(90, 2 * kMs, buffer));
}

TEST_F(MemoryGuardTest, LeavesACellThatBeginsAboveTheMarkHalfOfWhatIsLeft) {
  use("job", 960, lines(960, 0, 0));
  MemoryGuard guard = begin();
  use("job", 979, lines(979, 0, 0));
  EXPECT_FALSE(guard.look(90, kMs, buffer));
  use("job", 980, lines(980, 0, 0));
  EXPECT_TRUE(guard.look(90, kMs, buffer));
}

TEST_F(MemoryGuardTest, LooksTheSoonerTheNearerItIs) {
  MemoryGuard guard = begin();
  guard.look(90, 0, buffer);
  EXPECT_GT(guard.next_ns(), 90 * kMs);  // 800 MiB are left
  use("job", 890, lines(890, 0, 0));
  guard.look(90, 0, buffer);
  EXPECT_LT(guard.next_ns(), 2 * kMs);
  EXPECT_GE(guard.next_ns(), kMs);
}

TEST_F(MemoryGuardTest, WatchesTheMachineWhereNothingIsLimited) {
  limit("job", "max");
  limit("job/step", "max");
  MemoryGuard guard = begin();
  use("job", 5000, lines(5000, 0, 0));
  EXPECT_FALSE(guard.look(90, kMs, buffer));
  machine(99);
  const auto near = guard.look(90, kMs, buffer);
  ASSERT_TRUE(near);
  EXPECT_EQ(near->source, "the machine's memory");
}

TEST_F(MemoryGuardTest, FollowsALimitThatIsLoweredInTheCell) {
  MemoryGuard guard = begin();
  use("job", 500, lines(500, 0, 0));
  EXPECT_FALSE(guard.look(90, kMs, buffer));
  limit("job", std::to_string(520 * kMib));
  EXPECT_FALSE(guard.look(90, INT64_MAX / 2, buffer));
  use("job", 511, lines(511, 0, 0));
  EXPECT_TRUE(guard.look(90, INT64_MAX / 2, buffer));
}

TEST_F(MemoryGuardTest, SaysNothingOfWhatItCanNotRead) {
  MemoryGuard guard = begin();
  use("job", 990, "");
  host.write("proc/meminfo", "");
  EXPECT_FALSE(guard.look(90, kMs, buffer));
}

TEST(MemoryGuardVersion1, CountsDescendantsAndLimitsAboveTheMount) {
  HostTree host;
  host.write("proc/self/mountinfo",
             "31 23 0:28 /docker/7 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  host.write("proc/700/cgroup", "4:memory:/docker/7\n");
  host.write("proc/700/stat", "700 (python) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n");
  host.write("proc/meminfo", "MemTotal: 10240000 kB\nMemAvailable: 10000000 kB\n");
  const std::string group = "sys/fs/cgroup/memory/";
  host.write(group + "memory.limit_in_bytes", "9223372036854771712\n");
  host.write(group + "memory.usage_in_bytes", std::to_string(950 * kMib));
  const auto stat = [](std::int64_t cache) {
    return "cache 0\nrss 1\nhierarchical_memory_limit " + std::to_string(1000 * kMib) +
           "\ntotal_cache " + std::to_string(cache * kMib) + "\ntotal_rss 1\ntotal_shmem 0\n";
  };
  host.write(group + "memory.stat", stat(500));
  std::array<char, 8192> buffer{};
  MemoryGuard guard(host.root(), 700);
  guard.begin_cell(90, buffer);
  EXPECT_FALSE(guard.look(90, kMs, buffer));
  host.write(group + "memory.stat", stat(0));
  const auto near = guard.look(90, kMs, buffer);
  ASSERT_TRUE(near);
  EXPECT_EQ(near->source, "the limit of a control group above /docker/7");
  EXPECT_EQ(near->limit_bytes, 1000 * kMib);
}

}  // namespace
}  // namespace probe
