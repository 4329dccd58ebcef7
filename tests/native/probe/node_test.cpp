#include "probe/node.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host_tree.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

void write_node(const HostTree& host, int cores) {
  host.write("proc/stat", HostTree::stat_text(cores));
  host.write("proc/meminfo",
             "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\nBuffers: 1 kB\n");
  host.write("proc/vmstat", "nr_free_pages 1\npgpgin 10\npgpgout 20\n");
  host.write("proc/loadavg", "0.01 0.11 0.07 1/82 5854\n");
  host.write("sys/devices/system/cpu/online", "0-" + std::to_string(cores - 1) + "\n");
}

// One node at a root, and its values by name.
struct Reader {
  explicit Reader(const std::string& root) : node(root, true, missing), capacity(root, 0) {}

  std::map<std::string, record::Value> read() {
    const auto columns = node.columns();
    std::vector<record::Value> values(columns.size());
    std::vector<char> buffer(node.buffer_bytes());
    node.read_cores(buffer);
    node.fill(values, capacity, 9, buffer);
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
  Reader reader(host.root());
  EXPECT_EQ(reader.read(),
            (std::map<std::string, record::Value>{{"node.cpu_time_ns", 200 * kTickNs},
                                                  {"node.core0.cpu_time_ns", 100 * kTickNs},
                                                  {"node.core1.cpu_time_ns", 100 * kTickNs},
                                                  {"node.storage_read_bytes", 10 * 1024},
                                                  {"node.storage_write_bytes", 20 * 1024},
                                                  {"node.memory_bytes", 600 * 1024},
                                                  {"node.threads", 82},
                                                  {"node.processes", 9},
                                                  {"node.capacity_millicores", 2000},
                                                  {"node.capacity_memory_bytes", 1000 * 1024}}));
  EXPECT_EQ(reader.node.forks(), 5000);
  EXPECT_EQ(reader.missing.list().size(), 4U);  // node.io_*
}

TEST(Node, ReadsAsManyCoresAsThereAre) {
  for (const int cores : {1, 128, 1024}) {
    const HostTree host;
    write_node(host, cores);
    Reader reader(host.root());
    const auto values = reader.read();
    EXPECT_EQ(values.size(), 8U + static_cast<std::size_t>(cores));
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
  EXPECT_EQ(values.size(), 8U + 127U);
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
  EXPECT_EQ(reader.read().size(), 10U);
}

TEST(Node, RepeatsACounterThatGoesBack) {
  const HostTree host;
  write_node(host, 2);
  Reader reader(host.root());
  const auto before = reader.read();
  host.write("proc/stat", HostTree::stat_text(2, -1, 40));
  host.write("proc/vmstat", "pgpgin 1\npgpgout 2\n");
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
                           "node.storage_write_bytes", "node.threads"}) {
    EXPECT_NE(names.find(name), std::string::npos) << name;
  }
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
