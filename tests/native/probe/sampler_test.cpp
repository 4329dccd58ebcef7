#include "probe/sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "actor.hpp"
#include "allocations.hpp"
#include "base/error.hpp"
#include "host_tree.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

class Watch {
 public:
  explicit Watch(const SamplerOptions& options) : sampler(options) {
    sample.values.resize(sampler.columns().size());
  }
  explicit Watch(pid_t root_pid) : Watch(SamplerOptions{.root_pid = root_pid}) {}

  void tick() { sampler.tick(sample, base::monotonic_ns()); }
  [[nodiscard]] record::Value at(const std::string& name) const {
    for (std::size_t i = 0; i < sample.values.size(); ++i) {
      if (sampler.columns()[i].name == name) return sample.values[i];
    }
    ADD_FAILURE() << "no column " << name;
    return unknown(State::kNotYet);
  }
  [[nodiscard]] State missing_state(const std::string& name) const {
    for (const auto& missing : sampler.missing()) {
      if (missing.name == name) return missing.state;
    }
    return State::kNotYet;
  }

  Sampler sampler;
  record::Sample sample;
};

TEST(Sampler, HasTheColumnsThatOthersRelyOn) {
  const HostTree host;
  host.write("proc/stat", HostTree::stat_text(4, 1));
  host.write_process(20, 1);
  const Watch watch(SamplerOptions{.root = host.root(), .root_pid = 20});
  std::string names;
  for (const auto& column : watch.sampler.columns()) {
    names += (column.kind == record::Kind::kCounter ? "+" : "=") + column.name + " ";
  }
  EXPECT_THAT(
      names,
      testing::StartsWith(  // those of the sources follow
          "+process.cpu_time_ns +process.io_read_bytes +process.io_write_bytes "
          "+process.io_read_ops +process.io_write_ops +process.storage_read_bytes "
          "+process.storage_write_bytes +process.page_faults +process.major_page_faults "
          "+process.root_cpu_time_ns +process.root_io_read_bytes "
          "+process.root_io_write_bytes +process.root_io_read_ops +process.root_io_write_ops "
          "+process.root_storage_read_bytes +process.root_storage_write_bytes "
          "+process.root_page_faults +process.root_major_page_faults "
          "=process.memory_bytes =process.memory_is_upper_bound =process.rss_bytes "
          "=process.pss_bytes =process.pss_time_ns =process.processes =process.threads "
          "=process.capacity_millicores =process.capacity_memory_bytes =process.swap_bytes "
          "+node.cpu_time_ns +node.core0.cpu_time_ns +node.core2.cpu_time_ns "
          "+node.core3.cpu_time_ns +node.storage_read_bytes +node.storage_write_bytes "
          "=node.memory_bytes =node.threads =node.processes =node.capacity_millicores "
          "=node.capacity_memory_bytes +node.storage_read_ops +node.storage_write_ops "
          "+node.storage_busy_ns +node.context_switches =node.threads_running "
          "=node.load_1min_milli =node.memory_cache_bytes =node.swap_bytes "
          "=node.capacity_swap_bytes +node.page_faults +node.major_page_faults "
          "+node.swap_in_bytes +node.swap_out_bytes +node.cpu_steal_ns "));
}

TEST(Sampler, ReadsWhatChangesSlowlyAtEdgesAndOnceASecond) {
  const HostTree host;
  host.write("proc/stat", HostTree::stat_text(1));
  const auto pressure = [&](const char* total) {
    host.write("proc/pressure/cpu",
               std::string("some avg10=0.00 avg60=0.00 avg300=0.00 total=") + total + "\n");
  };
  pressure("10");
  Watch watch(SamplerOptions{.root = host.root(), .process_level = false});
  watch.tick();
  EXPECT_EQ(watch.at("node.pressure_cpu_some_ns"), 10'000);
  pressure("20");
  watch.tick();
  EXPECT_EQ(watch.at("node.pressure_cpu_some_ns"), 10'000);
  watch.sample.flags = record::kEdgeSample;
  watch.tick();
  EXPECT_EQ(watch.at("node.pressure_cpu_some_ns"), 20'000);
}

TEST(Sampler, ReadsACapturedMachine) {
  Watch watch(SamplerOptions{.root = JUMPER_TEST_DATA "/hosts/vm", .root_pid = 700});
  watch.tick();
  EXPECT_EQ(watch.at("process.processes"), 2);
  EXPECT_EQ(watch.at("process.capacity_millicores"), 2000);
  EXPECT_EQ(watch.at("node.processes"), 4);
  EXPECT_GT(watch.at("process.rss_bytes"), 0);
  EXPECT_GT(watch.at("process.io_read_bytes"), watch.at("process.root_io_read_bytes"));
  const auto machine = watch.sampler.machine();
  EXPECT_EQ(machine.host, "vm");
  EXPECT_EQ(machine.kernel_release, "6.18.44");
  EXPECT_EQ(machine.boot_id.size(), 36U);
  EXPECT_EQ(machine.cores_online, 2);
  EXPECT_GT(machine.root_start_ticks, 0);
}

TEST(Sampler, ThrowsOnlyWhenTheRootIsNotThere) {
  EXPECT_THROW(Watch(0x3fffffff), base::Error);
  const HostTree host;
  host.write_process(20, 1);
  EXPECT_NO_THROW(Watch(SamplerOptions{.root = host.root(), .root_pid = 20}));
  EXPECT_NO_THROW(
      Watch(SamplerOptions{.root = host.root(), .root_pid = 99, .process_level = false}));
}

TEST(Sampler, LeavesOutALevelThatIsNotWanted) {
  Watch node(SamplerOptions{.root_pid = ::getpid(), .process_level = false});
  node.tick();
  EXPECT_TRUE(node.sampler.columns().front().name.starts_with("node."));
  EXPECT_GT(node.at("node.processes"), 0);
  Watch process(SamplerOptions{.root_pid = ::getpid(), .node_level = false});
  process.tick();
  for (const auto& column : process.sampler.columns()) {
    EXPECT_FALSE(column.name.starts_with("node.")) << column.name;
  }
  EXPECT_GT(process.at("process.capacity_memory_bytes"), 0);
}

TEST(Sampler, SaysWhatATickCost) {
  Watch watch(::getpid());
  watch.tick();
  EXPECT_GT(watch.sample.time_ns, 0);
  EXPECT_GT(watch.sample.duration_ns, 0);
  EXPECT_GT(watch.sample.cpu_ns, 0);
}

TEST(Sampler, KnowsEveryValueOfProcessAndNodeOfThisMachine) {
  Watch watch(::getpid());
  const auto unknown_names = [&] {
    std::string names;
    for (std::size_t i = 0; i < watch.sample.values.size(); ++i) {
      const std::string& name = watch.sampler.columns()[i].name;
      const bool ours = name.starts_with("process.") || name.starts_with("node.");
      if (ours && !record::is_known(watch.sample.values[i])) names += name + " ";
    }
    return names;
  };
  const bool all = eventually([&] {
    watch.tick();
    return unknown_names().empty();
  });
  EXPECT_TRUE(all) << unknown_names();
}

TEST(Sampler, TakesSharedMemoryOnceAsSoonAsItIsMeasured) {
  constexpr std::int64_t kShared = 96 << 20;
  const Actor actor([](const Cue& cue) {
    cue.wait();
    occupy(kShared);
    for (int i = 0; i < 3; ++i) child([&] { cue.stay(); });
    cue.tell(0);
    cue.wait();
    occupy(kShared);
    cue.tell(0);
    cue.stay();
  });
  Watch watch(actor.pid());
  const auto measured = [&] {
    watch.tick();
    return watch.at("process.memory_is_upper_bound") == 0;
  };
  watch.tick();
  EXPECT_EQ(watch.at("process.memory_is_upper_bound"), 1);
  EXPECT_EQ(watch.at("process.memory_bytes"), watch.at("process.rss_bytes"));
  EXPECT_EQ(watch.at("process.pss_bytes"), unknown(State::kNotYet));
  ASSERT_TRUE(eventually(measured));
  const record::Value first = watch.at("process.memory_bytes");
  actor.go();
  actor.heard();
  watch.tick();
  EXPECT_EQ(watch.at("process.memory_is_upper_bound"), 1);
  EXPECT_GE(watch.at("process.memory_bytes"), first + 4 * kShared);
  ASSERT_TRUE(eventually(measured));
  EXPECT_GE(watch.at("process.memory_bytes"), first + kShared * 9 / 10);
  EXPECT_LE(watch.at("process.memory_bytes"), first + kShared * 3 / 2);
  EXPECT_LE(watch.at("process.pss_bytes"), first + kShared * 3 / 2);
  EXPECT_GE(watch.at("process.rss_bytes"), first + 4 * kShared);
  const record::Value second = watch.at("process.memory_bytes");
  actor.go();
  actor.heard();
  watch.tick();  // between measurements what is resident moves it
  EXPECT_GE(watch.at("process.memory_bytes"), second + kShared * 9 / 10);
  EXPECT_LE(watch.at("process.memory_bytes"), second + kShared * 3 / 2);
}

TEST(Sampler, MarksMemoryAsAnUpperBoundWhenTheTreeHasChanged) {
  const Actor actor([](const Cue& cue) {
    cue.wait();
    child([&] {
      cue.tell(0);
      cue.stay();
    });
    cue.stay();
  });
  Watch watch(actor.pid());
  ASSERT_TRUE(eventually([&] {
    watch.tick();
    return watch.at("process.memory_is_upper_bound") == 0;
  }));
  actor.go();
  actor.heard();
  watch.tick();
  EXPECT_EQ(watch.at("process.processes"), 2);
  EXPECT_EQ(watch.at("process.memory_is_upper_bound"), 1);
  ASSERT_TRUE(eventually([&] {
    watch.tick();
    return watch.at("process.memory_is_upper_bound") == 0;
  }));
}

TEST(Sampler, UsesResidentSizesWhereSharesAreNotMeasured) {
  Watch watch(SamplerOptions{.root_pid = ::getpid(), .proportional = false});
  watch.tick();
  EXPECT_EQ(watch.at("process.memory_bytes"), watch.at("process.rss_bytes"));
  EXPECT_EQ(watch.at("process.memory_is_upper_bound"), 1);
  EXPECT_EQ(watch.at("process.pss_bytes"), unknown(State::kNotSupported));
  EXPECT_EQ(watch.missing_state("process.pss_bytes"), State::kNotSupported);
}

TEST(Sampler, AddsUpWhatIsSwappedOutWhereItIsSaid) {
  const HostTree host;
  host.write("proc/stat", HostTree::stat_text(2));
  host.write_process(20, 1);
  host.write_process(21, 20);
  host.write("proc/20/smaps_rollup", "Rss: 40 kB\nPss: 30 kB\nSwapPss: 3 kB\n");
  host.write("proc/21/smaps_rollup", "Rss: 40 kB\nPss: 30 kB\nSwapPss: 4 kB\n");
  Watch watch(SamplerOptions{.root = host.root(), .root_pid = 20});
  watch.tick();
  EXPECT_EQ(watch.at("process.swap_bytes"), unknown(State::kNotYet));
  const auto measured = [&] {
    watch.sampler.want_proportional();
    watch.tick();
    return watch.at("process.swap_bytes") != unknown(State::kNotYet);
  };
  ASSERT_TRUE(eventually(measured));
  EXPECT_EQ(watch.at("process.swap_bytes"), 7 * 1024);
  EXPECT_EQ(watch.at("process.pss_bytes"), 60 * 1024);
  host.write("proc/21/smaps_rollup", "Rss: 40 kB\nPss: 30 kB\n");
  ASSERT_TRUE(eventually([&] { return measured() && watch.at("process.swap_bytes") < 0; }));
  EXPECT_EQ(watch.at("process.swap_bytes"), unknown(State::kNotSupported));
  EXPECT_EQ(watch.missing_state("process.swap_bytes"), State::kNotSupported);
  EXPECT_EQ(watch.at("process.pss_bytes"), 60 * 1024);
}

TEST(Sampler, TellsWhoUsedIt) {
  const Actor actor([](const Cue& cue) {
    cue.wait();
    burn(20 * kMilli);
    cue.tell(0);
    cue.stay();
  });
  Watch watch(actor.pid());
  watch.tick();
  watch.sampler.take_consumers(watch.sample.time_ns);
  actor.go();
  actor.heard();
  const record::Value before = watch.at("process.cpu_time_ns");
  watch.tick();
  const auto consumers = watch.sampler.take_consumers(watch.sample.time_ns);
  ASSERT_EQ(consumers.list.size(), 1U);
  EXPECT_EQ(consumers.list[0].pid, actor.pid());
  EXPECT_EQ(consumers.list[0].cpu_time_ns, watch.at("process.cpu_time_ns") - before);
  EXPECT_EQ(consumers.end_ns, watch.sample.time_ns);
}

TEST(Sampler, CountsTheProcessesOfTheUserAtEdgesAsTheyAreThen) {
  const Actor actor([](const Cue& cue) {
    cue.wait();
    child([&] {
      burn(100 * kMilli);
      cue.tell(0);
      cue.stay();
    });
    cue.stay();
  });
  Watch watch(actor.pid());
  watch.sample.flags = record::kEdgeSample;
  watch.tick();
  const record::Value before = watch.at("user.cpu_time_ns");
  EXPECT_GE(before, watch.at("process.cpu_time_ns"));
  actor.go();
  actor.heard();
  watch.tick();  // less than a second after the last listing
  EXPECT_GE(watch.at("user.cpu_time_ns"), before + 100 * kMilli);
  EXPECT_GT(watch.at("user.processes"), watch.at("process.processes"));  // the test is one, too
}

TEST(Sampler, HasLevelUserWithoutLevelProcess) {
  Watch watch(SamplerOptions{.root_pid = ::getpid(), .process_level = false, .job_level = false});
  watch.tick();
  watch.tick();
  EXPECT_GT(watch.at("user.cpu_time_ns"), 0);
  EXPECT_TRUE(watch.sampler.take_consumers(watch.sample.time_ns).list.empty());
}

TEST(Sampler, MeasuresSharesAtAnEdgeAndNotAllTheTime) {
  const Actor actor([](const Cue& cue) {
    occupy(1 << 20);
    cue.stay();
  });
  Watch watch(actor.pid());
  ASSERT_TRUE(eventually([&] {
    watch.tick();
    return record::is_known(watch.at("process.pss_time_ns"));
  }));
  const record::Value first = watch.at("process.pss_time_ns");
  for (int i = 0; i < 100; ++i) watch.tick();
  EXPECT_EQ(watch.at("process.pss_time_ns"), first);
  watch.sampler.want_proportional();
  ASSERT_TRUE(eventually([&] {
    watch.tick();
    return watch.at("process.pss_time_ns") != first;
  }));
}

TEST(Sampler, AllocatesNothingWhileTheTreeStaysAsItIs) {
  const Actor actor([](const Cue& cue) {
    for (int i = 0; i < 30; ++i) child([&] { cue.stay(); });
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  for (const pid_t pid : {::getpid(), actor.pid()}) {
    Watch watch(pid);
    ASSERT_TRUE(eventually([&] {
      watch.tick();
      return record::is_known(watch.at("process.pss_bytes"));
    }));
    const std::int64_t before = allocations();
    for (int i = 0; i < 50; ++i) watch.tick();
    EXPECT_EQ(allocations(), before);
  }
}

TEST(Sampler, LeavesNoDescriptorsAndNoThreadBehind) {
  const auto entries = [](const char* folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.insert(entry.path().filename());
    }
    return names.size();
  };
  std::thread([] {}).join();  // with the first one ThreadSanitizer starts one of its own
  const std::size_t descriptors = entries("/proc/self/fd");
  const std::size_t threads = entries("/proc/self/task");
  {
    Watch watch(::getpid());
    watch.tick();
    EXPECT_GT(entries("/proc/self/task"), threads);
  }
  EXPECT_EQ(entries("/proc/self/fd"), descriptors);
  EXPECT_TRUE(eventually([&] { return entries("/proc/self/task") == threads; }));
}

TEST(Sampler, GoesOnFromTheLastSampleOfALostOne) {
  const Actor actor([](const Cue& cue) {
    burn(20 * kMilli);
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  Watch first(actor.pid());
  first.tick();
  record::Sample last = first.sample;
  for (auto& value : last.values) {
    if (record::is_known(value)) value += 1'000'000'000;
  }
  Watch second(actor.pid());
  second.sampler.seed(last, first.sampler.columns());
  second.tick();
  for (const auto* name :
       {"process.cpu_time_ns", "process.io_read_bytes", "process.page_faults",
        "process.root_cpu_time_ns", "process.root_io_write_ops", "process.root_page_faults"}) {
    EXPECT_GE(second.at(name), first.at(name) + 1'000'000'000) << name;
    EXPECT_LE(second.at(name), first.at(name) + 1'010'000'000) << name;
  }
  EXPECT_LT(second.at("process.threads"), 1'000'000'000);
}

TEST(Sampler, KeepsCountersAndCallsTheRestVanishedWhenTheRootIsGone) {
  Actor actor([](const Cue& cue) {
    burn(20 * kMilli);
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  Watch watch(actor.pid());
  watch.tick();
  const record::Value used = watch.at("process.cpu_time_ns");
  actor.kill();
  watch.tick();
  EXPECT_EQ(watch.at("process.cpu_time_ns"), used);
  EXPECT_EQ(watch.at("process.processes"), 0);
  EXPECT_EQ(watch.at("process.memory_bytes"), unknown(State::kVanished));
}

}  // namespace
}  // namespace probe
