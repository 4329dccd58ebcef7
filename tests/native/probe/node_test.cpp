#include "probe/node.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actor.hpp"
#include "host_tree.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

constexpr std::size_t kOthers = 22;  // columns that aren't of one core

std::string disk_text(int read_sectors, int written_sectors) {
  return "254 0 vda 11 0 " + std::to_string(read_sectors) + " 4 22 0 " +
         std::to_string(written_sectors) + " 8 0 9 10\n";
}

void write_node(const HostTree& host, int cores) {
  host.write("proc/stat", HostTree::stat_text(cores));
  host.write("proc/meminfo",
             "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\nBuffers: 1 kB\n"
             "Cached: 50 kB\nSwapTotal: 80 kB\nSwapFree: 60 kB\nShmem: 7 kB\nSReclaimable: 9 kB\n");
  host.write("proc/vmstat",
             "nr_free_pages 1\npgpgin 10\npgpgout 20\npswpin 2\npswpout 3\npgfault 400\n"
             "pgmajfault 5\n");
  host.write("proc/loadavg", "0.01 0.11 0.07 1/82 5854\n");
  host.write("proc/diskstats", disk_text(100, 200));
  host.write("sys/devices/system/cpu/online", "0-" + std::to_string(cores - 1) + "\n");
}

// One node at a root, and its values by name.
struct Reader {
  explicit Reader(const std::string& root) : node(root, true, missing), capacity(root, 0) {}

  std::map<std::string, record::Value> read(bool full = true) {
    const auto columns = node.columns();
    std::vector<record::Value> values(columns.size());
    std::vector<char> buffer(node.buffer_bytes());
    node.read_cores(buffer);
    node.fill(values, capacity, 9, Turn{1, full, buffer});
    std::map<std::string, record::Value> named;
    for (std::size_t i = 0; i < columns.size(); ++i) named[columns[i].name] = values[i];
    return named;
  }

  MissingList missing;
  Node node;
  Capacity capacity;
};

TEST(Node, ReadsAllItsColumns) {
  const HostTree host;
  write_node(host, 2);
  const std::int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  Reader reader(host.root());
  EXPECT_EQ(reader.read(),
            (std::map<std::string, record::Value>{{"node.cpu_time_ns", 200 * kTickNs},
                                                  {"node.core0.cpu_time_ns", 100 * kTickNs},
                                                  {"node.core1.cpu_time_ns", 100 * kTickNs},
                                                  {"node.storage_read_bytes", 100 * 512},
                                                  {"node.storage_write_bytes", 200 * 512},
                                                  {"node.storage_read_ops", 11},
                                                  {"node.storage_write_ops", 22},
                                                  {"node.storage_busy_ns", 9'000'000},
                                                  {"node.context_switches", 345100},
                                                  {"node.threads_running", 4},
                                                  {"node.load_1min_milli", 10},
                                                  {"node.memory_cache_bytes", 53 * 1024},
                                                  {"node.swap_bytes", 20 * 1024},
                                                  {"node.capacity_swap_bytes", 80 * 1024},
                                                  {"node.page_faults", 400},
                                                  {"node.major_page_faults", 5},
                                                  {"node.swap_in_bytes", 2 * page_bytes},
                                                  {"node.swap_out_bytes", 3 * page_bytes},
                                                  {"node.cpu_steal_ns", 0},
                                                  {"node.memory_bytes", 600 * 1024},
                                                  {"node.threads", 82},
                                                  {"node.processes", 9},
                                                  {"node.capacity_millicores", 2000},
                                                  {"node.capacity_memory_bytes", 1000 * 1024}}));
  EXPECT_EQ(reader.node.forks(), 5000);
  EXPECT_EQ(reader.missing.list().size(), 4U);  // node.io_*
}

TEST(Node, ReadsTheLoadOnFullTurnsAndRepeatsItBetween) {
  const HostTree host;
  write_node(host, 2);
  Reader reader(host.root());
  EXPECT_EQ(reader.read().at("node.threads"), 82);
  host.write("proc/loadavg", "0.02 0.11 0.07 1/90 5854\n");
  EXPECT_EQ(reader.read(false).at("node.threads"), 82);
  EXPECT_EQ(reader.read(false).at("node.load_1min_milli"), 10);
  EXPECT_EQ(reader.read().at("node.threads"), 90);
}

TEST(Node, ReadsAsManyCoresAsThereAre) {
  for (const int cores : {1, 128, 1024}) {
    const HostTree host;
    write_node(host, cores);
    Reader reader(host.root());
    const auto values = reader.read();
    EXPECT_EQ(values.size(), kOthers + static_cast<std::size_t>(cores));
    EXPECT_EQ(values.at("node.core" + std::to_string(cores - 1) + ".cpu_time_ns"), 100 * kTickNs);
    EXPECT_EQ(values.at("node.capacity_millicores"), 1000 * cores);
    EXPECT_EQ(values.at("node.cpu_time_ns"), 100 * kTickNs * cores);
  }
}

TEST(Node, ReadsTheCapturedMachine) {
  Reader reader(JUMPER_TEST_DATA "/hosts/vm");
  const auto values = reader.read();
  EXPECT_EQ(values.at("node.core1.cpu_time_ns"), (3371 + 1119 + 59 + 20) * kTickNs);
  EXPECT_EQ(values.at("node.capacity_memory_bytes"), 24684084LL * 1024);
  EXPECT_EQ(values.at("node.threads"), 82);
  EXPECT_GT(values.at("node.storage_write_bytes"), 0);
}

TEST(Node, ReadsTheMadeMachineWithAnOfflineCore) {
  Reader reader(JUMPER_TEST_DATA "/hosts/made/cores128");
  const auto values = reader.read();
  EXPECT_EQ(values.size(), kOthers + 127U);
  EXPECT_FALSE(values.contains("node.core5.cpu_time_ns"));
  EXPECT_EQ(values.at("node.capacity_millicores"), 127'000);
  EXPECT_GT(values.at("node.core127.cpu_time_ns"), 0);
}

TEST(Node, CallsACoreThatGoesOfflineVanishedAndGoesOnWhenItIsBack) {
  const HostTree host;
  write_node(host, 4);
  Reader reader(host.root());
  host.write("proc/stat", HostTree::stat_text(4, 2, 150));
  EXPECT_EQ(reader.read().at("node.core2.cpu_time_ns"), unknown(State::kVanished));
  host.write("proc/stat", HostTree::stat_text(4, -1, 160));
  EXPECT_EQ(reader.read().at("node.core2.cpu_time_ns"), 160 * kTickNs);
}

TEST(Node, LeavesOutACoreThatComesLater) {
  const HostTree host;
  write_node(host, 2);
  Reader reader(host.root());
  host.write("proc/stat", HostTree::stat_text(4));
  EXPECT_EQ(reader.read().size(), kOthers + 2);
}

TEST(Node, RepeatsACounterThatGoesBack) {
  const HostTree host;
  write_node(host, 2);
  Reader reader(host.root());
  const auto before = reader.read();
  host.write("proc/stat", HostTree::stat_text(2, -1, 40));
  host.write("proc/vmstat", "pgpgin 1\npgpgout 2\npswpin 1\npswpout 1\npgfault 4\npgmajfault 1\n");
  host.write("proc/diskstats", disk_text(99, 199));
  EXPECT_EQ(reader.read(), before);
  host.write("proc/stat", HostTree::stat_text(2, -1, 101));
  EXPECT_EQ(reader.read().at("node.core1.cpu_time_ns"), 101 * kTickNs);
}

TEST(Node, CountsOnWhereNanosecondsWouldOverflow) {
  const HostTree host;
  write_node(host, 1);
  const std::int64_t years = 1'000'000'000'000;  // ticks: more than 2^63 ns
  host.write("proc/stat", "cpu  " + std::to_string(years) + " 0 0 0 0 0 0 0 0 0\n");
  Reader reader(host.root());
  const auto before = reader.read().at("node.cpu_time_ns");
  EXPECT_GE(before, 0);
  host.write("proc/stat", "cpu  " + std::to_string(years + 5) + " 0 0 0 0 0 0 0 0 0\n");
  EXPECT_EQ(reader.read().at("node.cpu_time_ns"), before + 5 * kTickNs);
}

TEST(Node, StaysInsideANumberWhateverTheTextHolds) {
  const HostTree host;
  write_node(host, 2);
  Reader reader(host.root());
  const std::string most = std::to_string(kMostNumber);
  host.write("proc/stat", "cpu  " + most + " " + most + " " + most + " 0 0 0 0 " + most +
                              "\ncpu0 " + most + " 0 0 0\nctxt " + most + "\nprocs_running " +
                              most + "\n");
  host.write("proc/vmstat", "pswpin " + most + "\npswpout " + most + "\npgfault " + most +
                                "\npgmajfault " + most + "\n");
  host.write("proc/loadavg", most + ".00 0.11 0.07 1/" + most + " 5854\n");
  for (const auto& [name, value] : reader.read()) {
    if (name == "node.core1.cpu_time_ns") continue;  // it isn't listed
    EXPECT_TRUE(record::is_known(value) || name.starts_with("node.load")) << name;
  }
}

TEST(Node, SaysWhatIsNotThere) {
  const HostTree host;
  Reader reader(host.root());
  for (const auto& [name, value] : reader.read()) {
    if (name == "node.processes") continue;  // it isn't read here
    EXPECT_EQ(value, unknown(State::kNotSupported)) << name;
  }
  EXPECT_FALSE(reader.node.forks());
  std::string names;
  for (const auto& missing : reader.missing.list()) names += missing.name + " ";
  for (const auto* name : {"node.cpu_time_ns", "node.memory_bytes", "node.storage_read_bytes",
                           "node.storage_write_bytes", "node.threads", "node.storage_busy_ns",
                           "node.context_switches", "node.cpu_steal_ns", "node.load_1min_milli",
                           "node.swap_bytes", "node.page_faults", "node.swap_out_bytes"}) {
    EXPECT_NE(names.find(name), std::string::npos) << name;
  }
}

TEST(Node, TakesStorageFromVmstatWhereNoDisksAreListed) {
  const HostTree host;
  write_node(host, 2);
  host.write("proc/diskstats", "");
  Reader reader(host.root());
  EXPECT_EQ(reader.read(false).at("node.storage_read_bytes"), 10 * 1024);
  EXPECT_EQ(reader.read().at("node.storage_write_bytes"), 20 * 1024);
  EXPECT_EQ(reader.read().at("node.storage_busy_ns"), unknown(State::kNotSupported));
  host.write("proc/vmstat", "pgpgin 12\npgpgout 20\n");
  EXPECT_EQ(reader.read(false).at("node.storage_read_bytes"), 12 * 1024);
  EXPECT_EQ(reader.missing.list().front().name, "node.storage_read_ops");
}

TEST(Node, ReadsVmstatOnFullTurnsOnlyAndRepeatsItBetween) {
  const HostTree host;
  write_node(host, 2);
  Reader reader(host.root());
  reader.read();
  host.write("proc/vmstat", "pswpin 2\npswpout 3\npgfault 500\npgmajfault 6\n");
  EXPECT_EQ(reader.read(false).at("node.page_faults"), 400);
  EXPECT_EQ(reader.read(true).at("node.page_faults"), 500);
  EXPECT_EQ(reader.read(false).at("node.major_page_faults"), 6);
}

TEST(Node, ReadsAServer) {
  Reader reader(JUMPER_TEST_DATA "/hosts/made/server");
  const auto values = reader.read();
  EXPECT_EQ(values.at("node.cpu_steal_ns"), 54321 * kTickNs);
  EXPECT_EQ(values.at("node.threads_running"), 17);
  EXPECT_EQ(values.at("node.load_1min_milli"), 12'340);
  EXPECT_EQ(values.at("node.context_switches"), 1'234'567'890);
  EXPECT_EQ(values.at("node.memory_cache_bytes"), 170'000'000LL * 1024);
  EXPECT_EQ(values.at("node.swap_bytes"), 3'554'428LL * 1024);
  EXPECT_EQ(values.at("node.page_faults"), 98'765'432'100);
  EXPECT_EQ(values.at("node.swap_out_bytes"), 888'607LL * ::sysconf(_SC_PAGESIZE));
}

// What this process does shows in the node's counters.
TEST(Node, CountsFaultsAndSwitchesOfThisMachine) {
  Reader reader("/");
  const auto before = reader.read();
  constexpr std::int64_t kPages = 5000;
  const std::int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  const Actor actor([&](const Cue& cue) {
    void* memory = ::mmap(nullptr, static_cast<std::size_t>(kPages * page_bytes),
                          PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::madvise(memory, static_cast<std::size_t>(kPages * page_bytes), MADV_NOHUGEPAGE);
    for (std::int64_t i = 0; i < kPages; ++i)
      static_cast<volatile char*>(memory)[i * page_bytes] = 1;
    for (int i = 0; i < 300; ++i) ::usleep(1);
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  const auto after = reader.read();
  EXPECT_GE(after.at("node.page_faults") - before.at("node.page_faults"), kPages);
  EXPECT_GE(after.at("node.context_switches") - before.at("node.context_switches"), 300);
  EXPECT_GE(after.at("node.threads_running"), 1);
  EXPECT_GE(after.at("node.memory_cache_bytes"), 0);
}

TEST(Node, GrowsItsBufferWithALongInterruptLine) {
  const HostTree host;
  write_node(host, 2);
  std::string interrupts = "intr 1";
  for (int i = 0; i < 60'000; ++i) interrupts += " 0";
  host.write("proc/stat", "cpu  1 2 3 4\ncpu0 1 2 3 4\n" + interrupts + "\nprocesses 77\n");
  Reader reader(host.root());
  reader.read();
  EXPECT_EQ(reader.node.forks(), 77);
}

TEST(Capacity, IsWhatTheProcessMayUseOfWhatIsOnline) {
  const HostTree host;
  write_node(host, 3);
  host.write_process(20, 1);  // may use 0-3
  Capacity capacity(host.root(), 20);
  EXPECT_EQ(capacity.affinity(), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(capacity.memory_bytes(), 1000 * 1024);
  EXPECT_FALSE(capacity.changed());
}

TEST(Capacity, SaysOnceThatItHasChangedAndLooksOnceASecond) {
  const HostTree host;
  write_node(host, 3);
  host.write_process(20, 1);
  Capacity capacity(host.root(), 20);
  const std::int64_t later_ns = INT64_MAX / 2;
  capacity.look(later_ns);
  EXPECT_FALSE(capacity.changed());
  host.write("sys/devices/system/cpu/online", "0,2\n");
  capacity.look(later_ns + 999'999'999);
  EXPECT_FALSE(capacity.changed());
  capacity.look(later_ns + 1'000'000'000);
  EXPECT_TRUE(capacity.changed());
  EXPECT_FALSE(capacity.changed());
  EXPECT_EQ(capacity.affinity(), (std::vector<std::int64_t>{0, 2}));
}

TEST(Capacity, KnowsTheCoresOfThisProcess) {
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  const Capacity capacity("/", ::getpid());
  EXPECT_EQ(capacity.affinity().size(), static_cast<std::size_t>(CPU_COUNT(&set)));
}

}  // namespace
}  // namespace probe
