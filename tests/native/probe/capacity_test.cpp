#include "probe/capacity.hpp"

#include <gtest/gtest.h>

#include <string>

#include "host_tree.hpp"
#include "made_hosts.hpp"
#include "probe/sampler.hpp"

namespace probe {
namespace {

using namespace std::string_literals;

constexpr std::int64_t kGib = std::int64_t{1} << 30;
constexpr std::int64_t kLater = INT64_MAX / 2;
constexpr std::int64_t kSecond = 1'000'000'000;

Usable usable_in(const std::string& kind) { return Capacity(made_host(kind), kMadePid).usable(); }

// A quota of 2 cores and a limit of 4 GiB on a host with 64 cores and 500 GB.
TEST(Capacity, IsTheQuotaAndTheLimitNotTheHost) {
  const Capacity capacity(made_host("cgroup_v2"), kMadePid);
  EXPECT_EQ(capacity.usable().millicores, 2000);
  EXPECT_EQ(capacity.usable().memory_bytes, 4 * kGib);
  EXPECT_EQ(capacity.usable().source,
            "CPU quota of cgroup /system.slice/notebook.service (2 cores); "
            "memory limit of cgroup /system.slice/notebook.service (4 GiB)");
  EXPECT_EQ(capacity.affinity().size(), 64U);
  EXPECT_EQ(capacity.memory_bytes(), 500'000'000LL * 1024);
}

TEST(Capacity, IsAffinityAndTheNodesMemoryWithoutLimits) {
  for (const auto* kind : {"cgroup_none", "cgroup_v2_max"}) {
    EXPECT_EQ(usable_in(kind).source, "affinity of the kernel process; memory of the node");
  }
  EXPECT_EQ(usable_in("cgroup_none").millicores, 4000);
  EXPECT_EQ(usable_in("cgroup_none").memory_bytes, 8'000'000LL * 1024);
}

TEST(Capacity, NamesTheAncestorThatIsTightest) {
  EXPECT_EQ(usable_in("cgroup_v2_ancestor").source,
            "CPU quota of cgroup /kubepods.slice/pod1 (1.5 cores); "
            "memory limit of cgroup /kubepods.slice (4 GiB)");
  EXPECT_EQ(usable_in("cgroup_v1").source,
            "CPU quota of cgroup /user.slice/notebook.service (0.5 cores); "
            "memory limit of cgroup /user.slice (8 GiB)");
  EXPECT_EQ(usable_in("container_v1").source,
            "CPU quota of cgroup /kubepods/burstable/pod5d0e/7be1 (3 cores); "
            "memory limit above cgroup /kubepods/burstable/pod5d0e/7be1 (2 GiB)");
}

TEST(Capacity, TakesSlurmsWordsAndSaysWhichAreNone) {
  MissingList missing;
  const Capacity v1(made_host("slurm_v1"), kMadePid, &missing);
  EXPECT_EQ(v1.usable().millicores, 8000);
  EXPECT_EQ(v1.usable().memory_bytes, 8 * kGib);  // less than 8 times 2000 MiB
  EXPECT_EQ(v1.usable().source,
            "SLURM_CPUS_ON_NODE (8 cores); "
            "memory limit of cgroup /slurm_n7/uid_1000/job_42/step_0 (8 GiB)");
  EXPECT_TRUE(missing.list().empty());
  const Capacity v2(made_host("slurm_v2"), kMadePid, &missing);
  EXPECT_EQ(v2.usable().millicores, 64'000);
  ASSERT_EQ(missing.list().size(), 1U);
  EXPECT_EQ(missing.list()[0].name, "job.capacity_millicores");
  EXPECT_EQ(missing.list()[0].state, record::State::kMeasured);
  EXPECT_EQ(missing.list()[0].reason, "upper bound: this is no number: SLURM_CPUS_ON_NODE=24(x2)");
}

// A process 20 of version 2 in /a, on four cores of 256.
class CapacityOnTheWay : public ::testing::Test {
 protected:
  CapacityOnTheWay() {
    host.write_process(20, 1);
    host.write("sys/devices/system/cpu/online", "0-255\n");
    host.write("proc/meminfo", "MemTotal: 16777216 kB\n");
    host.write("proc/20/cgroup", "0::/a\n");
    host.write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 c rw\n");
    host.write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
    host.write("sys/fs/cgroup/a/memory.max", "max\n");
    host.write("sys/fs/cgroup/a/memory.swap.max", "max\n");
    host.write("sys/fs/cgroup/b/cpu.max", "100000 100000\n");
    host.write("sys/fs/cgroup/b/memory.max", "1073741824\n");
  }
  HostTree host;
};

TEST_F(CapacityOnTheWay, IsTheAffinityOnABiggerHost) {
  host.write("proc/20/status", "VmHWM:\t1 kB\nCpus_allowed_list:\t0-1\n");
  const Capacity capacity(host.root(), 20);
  EXPECT_EQ(capacity.usable().millicores, 2000);
  EXPECT_EQ(capacity.affinity(), (std::vector<std::int64_t>{0, 1}));
}

TEST_F(CapacityOnTheWay, IgnoresLimitsAboveWhatThereIs) {
  host.write("sys/fs/cgroup/a/cpu.max", "400000 100000\n");
  host.write("sys/fs/cgroup/a/memory.max", "17179869184\n");
  EXPECT_EQ(Capacity(host.root(), 20).usable().source,
            "affinity of the kernel process; memory of the node");
}

TEST_F(CapacityOnTheWay, ChangesWithALimit) {
  Capacity capacity(host.root(), 20);
  capacity.look(kLater);
  EXPECT_FALSE(capacity.changed());
  host.write("sys/fs/cgroup/a/memory.max", "1610612736\n");
  capacity.look(kLater + kSecond / 2);
  EXPECT_FALSE(capacity.changed());
  capacity.look(kLater + kSecond);
  EXPECT_TRUE(capacity.changed());
  EXPECT_FALSE(capacity.changed());
  EXPECT_EQ(capacity.usable().memory_bytes, 3 * kGib / 2);
  EXPECT_EQ(capacity.usable().source,
            "affinity of the kernel process; memory limit of cgroup /a (1.5 GiB)");
  host.write("sys/fs/cgroup/a/memory.swap.max", "0\n");  // nothing of it is shown
  capacity.look(kLater + 2 * kSecond);
  EXPECT_FALSE(capacity.changed());
  EXPECT_EQ(capacity.limits().swap_bytes().amount, 0);
}

TEST_F(CapacityOnTheWay, FollowsTheProcessToAnotherGroup) {
  Capacity capacity(host.root(), 20);
  host.write("proc/20/cgroup", "0::/b\n");
  capacity.look(kLater);
  EXPECT_TRUE(capacity.changed());
  EXPECT_EQ(capacity.usable().millicores, 1000);
  EXPECT_EQ(capacity.usable().memory_bytes, kGib);
}

TEST_F(CapacityOnTheWay, StaysWhenTheProcessEndsAndItsGroupIsRemoved) {
  host.write("proc/20/cgroup", "0::/b\n");
  Capacity capacity(host.root(), 20);
  std::filesystem::remove_all(host.root() + "/sys/fs/cgroup/b");
  host.write("proc/20/cgroup", "");
  for (int i = 0; i < 30; ++i) capacity.look(kLater + i * kSecond);
  EXPECT_FALSE(capacity.changed());
  EXPECT_EQ(capacity.usable().millicores, 1000);
}

TEST_F(CapacityOnTheWay, OfTheNodeAloneKnowsNoLimits) {
  host.write("sys/fs/cgroup/a/cpu.max", "100000 100000\n");
  EXPECT_FALSE(Capacity(host.root(), 0).limits().cpu_millicores().there());
}

TEST_F(CapacityOnTheWay, KeepsItsWordsShortAndPrintable) {
  std::string path = "/kubepods.slice/kubepods-burstable.slice/";
  for (int i = 0; i < 10; ++i) path += "pod-\xc3\xa4\x01-0123456789";
  host.write("proc/20/cgroup", "0::" + path + "\n");
  host.write("sys/fs/cgroup" + path + "/cpu.max", "33333 100000\n");
  host.write("sys/fs/cgroup" + path + "/memory.max", "12345678901\n");
  const std::string source = Capacity(host.root(), 20).usable().source;
  EXPECT_LE(source.size(), kMostSourceBytes);
  for (const char c : source) EXPECT_TRUE(c >= ' ' && c <= '~');
  EXPECT_NE(source.find("-0123456789 (0.333 cores)"), std::string::npos) << source;
  EXPECT_NE(source.find("-0123456789 (11.5 GiB)"), std::string::npos) << source;
}

SlurmWords words(const std::string& text) { return parse_slurm_environment(text); }

TEST(SlurmWords, AreNumbersOfCoresAndMebibytes) {
  const auto node = words("A=1\0SLURM_CPUS_ON_NODE=4\0SLURM_MEM_PER_NODE=8192\0"s);
  EXPECT_EQ(node.cores, 4);
  EXPECT_EQ(node.memory_bytes, 8 * kGib);
  EXPECT_FALSE(node.memory_by_core);
  const auto core = words("SLURM_MEM_PER_CPU=2048\0SLURM_CPUS_ON_NODE=4"s);
  EXPECT_EQ(core.memory_bytes, 8 * kGib);
  EXPECT_TRUE(core.memory_by_core);
  EXPECT_EQ(words("SLURM_CPUS_ON_NODE=4\0SLURM_MEM_PER_NODE=0\0"s).memory_bytes, kNoLimit);
}

TEST(SlurmWords, AreIgnoredWhereTheyAreNoNumbers) {
  const auto odd = words("SLURM_CPUS_ON_NODE=24(x2)\0SLURM_MEM_PER_CPU=\0SLURM_MEM_PER_NODE=4G\0"s);
  EXPECT_EQ(odd.cores, kNoLimit);
  EXPECT_EQ(odd.memory_bytes, kNoLimit);
  EXPECT_EQ(odd.nonsense,
            (std::vector<std::string>{"SLURM_CPUS_ON_NODE=24(x2)",
                                      "SLURM_MEM_PER_CPU=", "SLURM_MEM_PER_NODE=4G"}));
  for (const auto* value : {"-1", "0", "4 ", "99999999999999999999", "1152921504606846976"}) {
    const auto other = words("SLURM_CPUS_ON_NODE="s + value + "\0SLURM_MEM_PER_CPU=9\0"s);
    EXPECT_EQ(other.cores, kNoLimit) << value;
    EXPECT_EQ(other.memory_bytes, kNoLimit) << value;
  }
  EXPECT_EQ(words("SLURM_CPUS_ON_NODE=2\0SLURM_MEM_PER_CPU=1152921504606846975\0"s).memory_bytes,
            kNoLimit);
}

TEST(SlurmWords, CountOnlyWhereSlurmStartedTheProcess) {
  const auto login = words("SLURM_JOB_ID=7\0SLURM_MEM_PER_NODE=512\0SLURM_MEM_PER_CPU=x\0"s);
  EXPECT_EQ(login.memory_bytes, kNoLimit);
  EXPECT_TRUE(login.nonsense.empty());
  EXPECT_EQ(words("XSLURM_CPUS_ON_NODE=2\0SLURM_CPUS_ON_NODE_X=3\0"s).cores, kNoLimit);
}

TEST(SlurmJobPath, IsThePartThatNamesTheJob) {
  EXPECT_EQ(slurm_job_path("/slurm/uid_7/job_42/step_0/task_1"), "/slurm/uid_7/job_42");
  EXPECT_EQ(slurm_job_path("/slurm_n7/uid_7/job_42"), "/slurm_n7/uid_7/job_42");
  EXPECT_EQ(slurm_job_path("/system.slice/slurmstepd.scope/job_42/step_0/user/task_0"),
            "/system.slice/slurmstepd.scope/job_42");
  EXPECT_EQ(slurm_job_path("/system.slice/n7_slurmstepd.scope/job_42/step_extern"),
            "/system.slice/n7_slurmstepd.scope/job_42");
  for (const auto* path : {"/", "", "/slurm/uid_7", "/job_42", "/docker/job_42/uid_1",
                           "/slurm/uid_7/job_", "/system.slice/slurmd.service"}) {
    EXPECT_EQ(slurm_job_path(path), "") << path;
  }
}

TEST(Sampler, SaysWhereTheCapacityOfEachLevelComesFrom) {
  const Sampler limited(SamplerOptions{.root = made_host("cgroup_v2"), .root_pid = kMadePid});
  const auto machine = limited.machine();
  EXPECT_TRUE(machine.process_source.starts_with("CPU quota of cgroup /system.slice/"));
  EXPECT_EQ(machine.job_source, machine.process_source);
  EXPECT_EQ(machine.user_source, "online cores and memory of the node");
  EXPECT_EQ(machine.node_source, "online cores and memory of the node");
  const Sampler free(SamplerOptions{.root = made_host("cgroup_none"), .root_pid = kMadePid});
  EXPECT_EQ(free.machine().process_source, "affinity of the kernel process; memory of the node");
  EXPECT_EQ(free.machine().job_source, "");
}

TEST(Sampler, MeasuresTheTreeAgainstItsShare) {
  Sampler sampler(SamplerOptions{.root = made_host("cgroup_v2"), .root_pid = kMadePid});
  record::Sample sample;
  sample.values.resize(sampler.columns().size());
  sampler.tick(sample, 1);
  for (std::size_t i = 0; i < sample.values.size(); ++i) {
    const auto& name = sampler.columns()[i].name;
    if (name == "process.capacity_millicores" || name == "job.capacity_millicores") {
      EXPECT_EQ(sample.values[i], 2000) << name;
    }
    if (name == "process.capacity_memory_bytes" || name == "job.capacity_memory_bytes") {
      EXPECT_EQ(sample.values[i], 4 * kGib) << name;
    }
    if (name == "node.capacity_millicores") {
      EXPECT_EQ(sample.values[i], 64'000);
    }
  }
}

}  // namespace
}  // namespace probe
