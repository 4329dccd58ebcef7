#include "probe/job.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "allocations.hpp"
#include "host_tree.hpp"
#include "job_reader.hpp"
#include "made_hosts.hpp"
#include "probe/rising.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

constexpr std::int64_t kMib = 1 << 20;
constexpr std::int64_t kGib = std::int64_t{1} << 30;
constexpr record::Value kNotSupported = unknown(State::kNotSupported);

TEST(Job, HasTheSameColumnsEverywhere) {
  const JobReader there(made_host("cgroup_v2"), kMadePid);
  const JobReader none(made_host("cgroup_none"), kMadePid);
  std::string names;
  for (const auto& column : there.job.columns()) {
    names += (column.kind == record::Kind::kCounter ? "+" : "=") + column.name + " ";
  }
  EXPECT_EQ(names,
            "+job.cpu_time_ns +job.throttled_ns +job.throttled_periods =job.memory_bytes "
            "=job.memory_is_upper_bound =job.memory_cache_bytes =job.memory_anonymous_bytes "
            "=job.memory_peak_bytes =job.swap_bytes +job.oom_kills +job.storage_read_bytes "
            "+job.storage_write_bytes +job.storage_read_ops +job.storage_write_ops =job.threads "
            "=job.processes +job.pressure_cpu_some_ns +job.pressure_memory_some_ns "
            "+job.pressure_memory_full_ns +job.pressure_io_some_ns +job.pressure_io_full_ns "
            "=job.capacity_millicores =job.capacity_memory_bytes ");
  EXPECT_EQ(none.job.columns().size(), there.job.columns().size());
  EXPECT_EQ(there.job.name(), "job");
}

TEST(Job, ReadsVersion2) {
  const JobReader job(made_host("cgroup_v2"), kMadePid);
  EXPECT_EQ(job.job.origin(), "cgroup /system.slice/notebook.service");
  EXPECT_EQ(job.at("cpu_time_ns"), 8'123'456'000);
  EXPECT_EQ(job.at("throttled_ns"), 3'900'000'000);
  EXPECT_EQ(job.at("throttled_periods"), 77);
  EXPECT_EQ(job.at("memory_bytes"), 3 * kGib / 4);
  EXPECT_EQ(job.at("memory_is_upper_bound"), 0);
  EXPECT_EQ(job.at("memory_cache_bytes"), kGib / 2);
  EXPECT_EQ(job.at("memory_anonymous_bytes"), kGib / 4 + kGib / 8);
  EXPECT_EQ(job.at("memory_peak_bytes"), 2 * kGib);
  EXPECT_EQ(job.at("swap_bytes"), 4096);
  EXPECT_EQ(job.at("oom_kills"), 0);
  EXPECT_EQ(job.at("storage_read_bytes"), 1'459'200);  // not the loop device's
  EXPECT_EQ(job.at("storage_write_bytes"), 314'773'504);
  EXPECT_EQ(job.at("storage_read_ops"), 192);
  EXPECT_EQ(job.at("storage_write_ops"), 353);
  EXPECT_EQ(job.at("threads"), 17);
  EXPECT_EQ(job.at("processes"), kNotSupported);
  EXPECT_EQ(job.at("pressure_cpu_some_ns"), 1'000'000);
  EXPECT_EQ(job.at("pressure_memory_some_ns"), 2'000'000);
  EXPECT_EQ(job.at("pressure_memory_full_ns"), 1'000'000);
  EXPECT_EQ(job.at("pressure_io_some_ns"), 3'000'000);
  EXPECT_EQ(job.at("pressure_io_full_ns"), 1'500'000);
  EXPECT_EQ(job.at("capacity_millicores"), 2000);
  EXPECT_EQ(job.at("capacity_memory_bytes"), 4 * kGib);
  ASSERT_EQ(job.missing.list().size(), 1U);
  EXPECT_EQ(job.missing.list()[0].name, "job.processes");
}

TEST(Job, ReadsVersion1) {
  const JobReader job(made_host("cgroup_v1"), kMadePid);
  EXPECT_EQ(job.job.origin(), "cgroup /user.slice/notebook.service");
  EXPECT_EQ(job.at("cpu_time_ns"), 7'000'000'123);
  EXPECT_EQ(job.at("throttled_ns"), 450'000'000);
  EXPECT_EQ(job.at("throttled_periods"), 9);
  EXPECT_EQ(job.at("memory_bytes"), 3 * kGib / 4);
  EXPECT_EQ(job.at("memory_cache_bytes"), kGib / 2);
  EXPECT_EQ(job.at("memory_anonymous_bytes"), kGib / 4 + kGib / 8);
  EXPECT_EQ(job.at("memory_peak_bytes"), 2 * kGib);
  EXPECT_EQ(job.at("swap_bytes"), 4096);
  EXPECT_EQ(job.at("oom_kills"), 0);
  EXPECT_EQ(job.at("storage_read_bytes"), 1'459'200);
  EXPECT_EQ(job.at("storage_write_ops"), 2);
  EXPECT_EQ(job.at("threads"), 17);
  EXPECT_EQ(job.at("capacity_millicores"), 500);
  EXPECT_EQ(job.at("pressure_cpu_some_ns"), kNotSupported);
  EXPECT_NE(job.reason("job.pressure"), "");
  EXPECT_TRUE(job.reason("job.storage_write_bytes").starts_with("lower bound: "));
}

TEST(Job, ReadsPressureInVersion2BesideControllersInVersion1) {
  const JobReader job(made_host("cgroup_hybrid"), kMadePid);
  EXPECT_EQ(job.at("cpu_time_ns"), 7'000'000'123);
  EXPECT_EQ(job.at("pressure_io_full_ns"), 1'500'000);
}

TEST(Job, IsTheContainer) {
  for (const auto* kind : {"container_v2", "container_v2_host_names"}) {
    const JobReader job(made_host(kind), kMadePid);
    EXPECT_EQ(job.at("memory_bytes"), 192 * kMib) << kind;
    EXPECT_EQ(job.at("capacity_millicores"), 500) << kind;
  }
  const JobReader v1(made_host("container_v1"), kMadePid);
  EXPECT_EQ(v1.at("cpu_time_ns"), 5'000'000'000);
  EXPECT_EQ(v1.at("capacity_memory_bytes"), 2 * kGib);
}

TEST(Job, IsSlurmsAndNotItsStepInVersion2) {
  const JobReader job(made_host("slurm_v2"), kMadePid);
  EXPECT_EQ(job.job.origin(), "cgroup /system.slice/n7_slurmstepd.scope/job_42");
  EXPECT_EQ(job.at("cpu_time_ns"), 30'000'000'000);
  EXPECT_EQ(job.at("memory_peak_bytes"), 6 * kGib);
  EXPECT_EQ(job.at("oom_kills"), 3);
  EXPECT_EQ(job.at("capacity_memory_bytes"), 16 * kGib);
  EXPECT_EQ(job.at("threads"), kNotSupported);
  EXPECT_NE(job.reason("job.threads"), "");
}

TEST(Job, IsSlurmsAndNotTheDaemonsInVersion1) {
  const JobReader job(made_host("slurm_v1"), kMadePid);
  EXPECT_EQ(job.job.origin(), "cgroup /slurm_n7/uid_1000/job_42");
  EXPECT_EQ(job.at("memory_peak_bytes"), 6 * kGib);
  EXPECT_EQ(job.at("oom_kills"), 3);                // of the step and of the task
  EXPECT_EQ(job.at("cpu_time_ns"), kNotSupported);  // that is all jobs'
  EXPECT_EQ(job.at("storage_read_bytes"), kNotSupported);
  EXPECT_NE(job.reason("job.cpu_time_ns"), "");
  EXPECT_EQ(job.at("capacity_millicores"), 8000);
}

TEST(Job, TakesTheGroupNearestToTheJobThatCanBeRead) {
  const HostTree host;
  host.write_process(20, 1);
  host.write("proc/20/cgroup", "0::/slurmstepd.scope/job_7/step_0/user/task_0\n");
  host.write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 c rw\n");
  const std::string step = "sys/fs/cgroup/slurmstepd.scope/job_7/step_0";
  host.write(step + "/memory.current", "2000\n");
  host.write(step + "/memory.stat", "inactive_file 500\n");
  host.write(step + "/user/task_0/memory.current", "1000\n");
  EXPECT_EQ(JobReader(host.root(), 20).at("memory_bytes"), 1500);
}

TEST(Job, SaysOnceThatThereIsNone) {
  const JobReader none(made_host("cgroup_none"), kMadePid);
  for (const auto value : none.values) EXPECT_EQ(value, kNotSupported);
  ASSERT_EQ(none.missing.list().size(), 1U);
  EXPECT_EQ(none.missing.list()[0].name, "job");
  EXPECT_EQ(none.missing.list()[0].reason, "this process is in no job: no cgroup can be seen");

  const HostTree host;
  host.write_process(20, 1);
  host.write("proc/20/cgroup", "0::/\n");
  host.write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 c rw\n");
  host.write("sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
  const JobReader root(host.root(), 20);
  for (const auto value : root.values) EXPECT_EQ(value, kNotSupported);
  ASSERT_EQ(root.missing.list().size(), 1U);
  EXPECT_EQ(root.missing.list()[0].reason, "this process is in no job: its cgroup is the root");
}

// A process 20 of version 2 in /a.
class JobOnTheWay : public ::testing::Test {
 protected:
  JobOnTheWay() {
    host.write_process(20, 1);
    host.write("proc/20/cgroup", "0::/a\n");
    host.write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 c rw\n");
    put("cpu.stat", "usage_usec 5000\nnr_throttled 2\nthrottled_usec 70\n");
    put("cpu.max", "max 100000\n");
    put("memory.current", "10630044057\n");  // 9.9 GiB
    put("memory.max", "10737418240\n");
    put("memory.stat",
        "anon 1503238553\nfile 9126805504\nshmem 107374182\ninactive_file 8589934592\n"
        "active_file 429496730\n");
    put("memory.events", "oom_kill 1\n");
    put("io.stat", "");
  }
  void put(const std::string& name, std::string_view text, const std::string& group = "a") const {
    host.write("sys/fs/cgroup/" + group + "/" + name, text);
  }
  HostTree host;
};

TEST_F(JobOnTheWay, CountsNoPageCacheThatIsGivenBackFirst) {
  const JobReader job(host.root(), 20);
  EXPECT_EQ(job.at("memory_bytes"), 10'630'044'057 - 8 * kGib);  // 1.9 GiB
  EXPECT_EQ(job.at("memory_is_upper_bound"), 0);
  EXPECT_EQ(job.at("memory_cache_bytes"), 9'126'805'504);                    // 8.5 GiB
  EXPECT_EQ(job.at("memory_anonymous_bytes"), 1'503'238'553 + 107'374'182);  // 1.5 GiB
  EXPECT_EQ(job.at("capacity_memory_bytes"), 10 * kGib);
  EXPECT_EQ(job.reason("job.memory_bytes"), "");
}

TEST_F(JobOnTheWay, SaysThatMemoryIncludesCacheWhereTheKindsAreNotTold) {
  std::filesystem::remove(host.root() + "/sys/fs/cgroup/a/memory.stat");
  const JobReader job(host.root(), 20);
  EXPECT_EQ(job.at("memory_bytes"), 10'630'044'057);
  EXPECT_EQ(job.at("memory_is_upper_bound"), 1);
  EXPECT_EQ(job.reason("job.memory_bytes"), "upper bound: includes page cache");
  EXPECT_EQ(job.at("memory_cache_bytes"), kNotSupported);
  EXPECT_EQ(job.at("memory_anonymous_bytes"), kNotSupported);
  EXPECT_NE(job.reason("job.memory_anonymous_bytes"), "");
}

TEST_F(JobOnTheWay, ReadsTimeAndMemoryAtEachTurnAndTheRestAtFullOnes) {
  JobReader job(host.root(), 20);
  put("cpu.stat", "usage_usec 6000\nnr_throttled 2\nthrottled_usec 70\n");
  put("memory.current", "8589934592\n");
  put("memory.events", "oom_kill 4\n");
  job.read(false);
  EXPECT_EQ(job.at("cpu_time_ns"), 6'000'000);
  EXPECT_EQ(job.at("memory_bytes"), 0);  // read a little earlier than its kinds
  EXPECT_EQ(job.at("oom_kills"), 1);
  job.read();
  EXPECT_EQ(job.at("oom_kills"), 4);
}

TEST_F(JobOnTheWay, NeverLetsACounterFall) {
  JobReader job(host.root(), 20);
  put("cpu.stat", "usage_usec 4000\nnr_throttled 0\nthrottled_usec 0\n");
  job.read();
  EXPECT_EQ(job.at("cpu_time_ns"), 5'000'000);
  EXPECT_EQ(job.at("throttled_ns"), 70'000);
  put("cpu.stat", "");
  job.read();
  EXPECT_EQ(job.at("cpu_time_ns"), 5'000'000);
  put("cpu.stat", "usage_usec 5001\n");
  job.read();
  EXPECT_EQ(job.at("cpu_time_ns"), 5'001'000);
}

TEST_F(JobOnTheWay, GoesOnInAnotherGroupWithoutAJump) {
  JobReader job(host.root(), 20);
  put("cpu.stat", "usage_usec 900000000\nnr_throttled 9\nthrottled_usec 9000\n", "b");
  put("memory.current", "4096\n", "b");
  put("memory.stat", "inactive_file 0\n", "b");
  host.write("proc/20/cgroup", "0::/b\n");
  job.read_later();
  EXPECT_EQ(job.job.origin(), "cgroup /b");
  EXPECT_EQ(job.at("cpu_time_ns"), 5'000'000);
  EXPECT_EQ(job.at("throttled_ns"), 70'000);
  EXPECT_EQ(job.at("memory_bytes"), 4096);
  EXPECT_EQ(job.at("oom_kills"), 1);  // the other group has none to tell
  put("cpu.stat", "usage_usec 900000007\nnr_throttled 9\nthrottled_usec 9001\n", "b");
  job.read_later();
  EXPECT_EQ(job.at("cpu_time_ns"), 5'007'000);
  EXPECT_EQ(job.at("throttled_ns"), 71'000);
}

TEST_F(JobOnTheWay, CountsTheThrottlingOfTheAncestorWhoseQuotaItIs) {
  const JobReader made(made_host("cgroup_v2_ancestor"), kMadePid);
  EXPECT_EQ(made.at("cpu_time_ns"), 8'000'000'000);
  EXPECT_EQ(made.at("throttled_ns"), 250'000'000);
  EXPECT_EQ(made.at("throttled_periods"), 5);
}

TEST_F(JobOnTheWay, AddsUpDevicesAndLeavesOutThoseThatStandOnOthers) {
  host.write("sys/dev/block/253:0/slaves/sda/dev", "8:0\n");
  host.write("sys/dev/block/8:0/slaves/.keep", "");
  std::filesystem::remove(host.root() + "/sys/dev/block/8:0/slaves/.keep");
  JobReader job(host.root(), 20);
  EXPECT_EQ(job.at("storage_read_bytes"), 0);  // nothing was read yet
  put("io.stat",
      "253:0 rbytes=100 wbytes=10 rios=4 wios=2\n8:0 rbytes=100 wbytes=10 rios=4 wios=2\n"
      "259:1 rbytes=5 wbytes=6 rios=1 wios=1 dbytes=0 dios=0\n");
  job.read();
  EXPECT_EQ(job.at("storage_read_bytes"), 105);
  EXPECT_EQ(job.at("storage_write_bytes"), 16);
  EXPECT_EQ(job.at("storage_read_ops"), 5);
  EXPECT_EQ(job.at("storage_write_ops"), 3);
  put("io.stat", "8:0 rbytes=107 wbytes=10 rios=5 wios=2\n");  // the other disk is gone
  job.read();
  EXPECT_EQ(job.at("storage_read_bytes"), 112);
  EXPECT_EQ(job.at("storage_write_bytes"), 16);
}

TEST(Job, DoesNotCallZeroWhatVersion1DoesNotCount) {
  const HostTree host;
  host.write_process(20, 1);
  host.write("proc/20/cgroup", "3:blkio:/a\n");
  host.write("proc/self/mountinfo",
             "38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n");
  host.write("sys/fs/cgroup/blkio/cgroup.sane_behavior", "0\n");
  const std::string file = "sys/fs/cgroup/blkio/a/blkio.throttle.io_service_bytes";
  host.write(file, "Total 0\n");
  JobReader job(host.root(), 20);
  EXPECT_EQ(job.at("storage_read_bytes"), unknown(State::kNotYet));
  EXPECT_NE(job.reason("job.storage_read_bytes"), "");
  host.write(file, "8:0 Read 10\n8:0 Write 0\n8:0 Total 10\nTotal 10\n");
  job.read();
  EXPECT_EQ(job.at("storage_read_bytes"), 10);
}

TEST(Job, SaysWhyForEachValueThatIsUnknown) {
  for (const auto* kind : {"cgroup_v1", "cgroup_v2", "cgroup_v2_max", "cgroup_hybrid",
                           "container_v1", "container_v2", "slurm_v1", "slurm_v2"}) {
    const JobReader job(made_host(kind), kMadePid);
    for (std::size_t i = 0; i < job.values.size(); ++i) {
      if (record::is_known(job.values[i])) continue;
      const std::string& name = job.job.columns()[i].name;
      const bool said = !job.reason(name).empty() ||
                        (name.starts_with("job.pressure") && !job.reason("job.pressure").empty());
      EXPECT_TRUE(said) << kind << ": " << name;
    }
    std::set<std::string> names;
    for (const auto& missing : job.missing.list()) {
      EXPECT_TRUE(names.insert(missing.name).second);
      EXPECT_LE(missing.reason.size(), 160U) << missing.reason;
    }
  }
}

TEST(Job, AllocatesNothingWhileItStaysWhereItIs) {
  for (const auto* kind : {"cgroup_v1", "cgroup_v2", "slurm_v2"}) {
    JobReader job(made_host(kind), kMadePid);
    const std::int64_t before = allocations();
    for (int i = 0; i < 20; ++i) job.read(i % 2 == 0);
    EXPECT_EQ(allocations(), before) << kind;
  }
}

TEST(Rising, NeverFallsAndGoesOnElsewhere) {
  Rising counter;
  EXPECT_EQ(counter.next(unknown(State::kNotPermitted)), unknown(State::kNotPermitted));
  EXPECT_EQ(counter.next(100), 100);
  EXPECT_EQ(counter.next(90), 100);
  EXPECT_EQ(counter.next(unknown(State::kVanished)), 100);
  counter.go_on_elsewhere();
  EXPECT_EQ(counter.next(5), 100);
  EXPECT_EQ(counter.next(7), 102);
  counter.go_on_elsewhere();
  EXPECT_EQ(counter.next(kMostNumber), 102);
  EXPECT_EQ(counter.next(kMostNumber), 102);
}

}  // namespace
}  // namespace probe
