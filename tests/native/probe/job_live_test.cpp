// Level `job` and the limits against real cgroups of version 1, which only root may make.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "actor.hpp"
#include "job_reader.hpp"

namespace probe {
namespace {

constexpr std::int64_t kMib = 1 << 20;

// Groups below those of this process: its own limits go on to count. Gone when this is.
class LiveGroups {
 public:
  LiveGroups() {
    const Cgroups own("/", ::getpid());
    for (const auto controller : {Controller::kCpu, Controller::kCpuacct, Controller::kMemory}) {
      const Group group = own.find(controller);
      if (!group.there() || group.unified) {
        why_ = std::string(name_v1(controller)) + " isn't controlled by cgroups of version 1 here";
        return;
      }
      const std::string folder = group.directory() + "/jumper-test-" + std::to_string(::getpid());
      if (std::ranges::find(folders_, folder) == folders_.end()) {
        if (::mkdir(folder.c_str(), 0755) != 0) {
          why_ = "a cgroup can't be made: " + folder;
          return;
        }
        folders_.push_back(folder);
      }
      places_.push_back(folder);
    }
  }
  LiveGroups(const LiveGroups&) = delete;
  LiveGroups& operator=(const LiveGroups&) = delete;
  ~LiveGroups() {
    for (const auto& folder : folders_) EXPECT_TRUE(remove(folder)) << folder;
  }

  [[nodiscard]] const std::string& why_not() const { return why_; }
  [[nodiscard]] std::string cpu() const { return places_[0]; }
  [[nodiscard]] std::string memory() const { return places_[2]; }
  void take(pid_t pid) const {
    for (const auto& folder : folders_) put(folder + "/cgroup.procs", std::to_string(pid));
  }
  static void put(const std::string& file, const std::string& text) {
    std::ofstream stream(file);
    stream << text << std::flush;
    EXPECT_TRUE(stream.good()) << file;
  }
  static bool remove(const std::string& folder) {
    return eventually([&] { return ::rmdir(folder.c_str()) == 0 || errno == ENOENT; });
  }

 private:
  std::string why_;
  std::vector<std::string> folders_;
  std::vector<std::string> places_;
};

class JobLive : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!groups.why_not().empty()) GTEST_SKIP() << groups.why_not();
    LiveGroups::put(groups.cpu() + "/cpu.cfs_period_us", "100000");
    LiveGroups::put(groups.cpu() + "/cpu.cfs_quota_us", "50000");
    LiveGroups::put(groups.memory() + "/memory.limit_in_bytes", "256M");
  }
  // A process in the groups that does `script` at a sign, and then waits.
  void act(const std::function<void(const Cue&)>& script) {
    actor.emplace([script](const Cue& cue) {
      cue.wait();
      script(cue);
      cue.stay();
    });
    groups.take(actor->pid());
    job.emplace("/", actor->pid());
  }
  [[nodiscard]] std::int64_t cpu_clock_ns() const {
    clockid_t clock{};
    EXPECT_EQ(::clock_getcpuclockid(actor->pid(), &clock), 0);
    return base::clock_ns(clock);
  }

  LiveGroups groups;
  std::optional<Actor> actor;
  std::optional<JobReader> job;
};

TEST_F(JobLive, KnowsTheLimitsAndFollowsThem) {
  act([](const Cue&) {});
  const auto& capacity = job->capacity;
  EXPECT_EQ(capacity.usable().millicores, 500);
  EXPECT_EQ(capacity.usable().memory_bytes, 256 * kMib);
  EXPECT_TRUE(capacity.usable().source.starts_with("CPU quota of cgroup "));
  EXPECT_NE(capacity.usable().source.find(" (0.5 cores); memory limit of cgroup "),
            std::string::npos);
  EXPECT_NE(job->job.origin().find("/jumper-test-"), std::string::npos);
  LiveGroups::put(groups.cpu() + "/cpu.cfs_quota_us", "25000");
  LiveGroups::put(groups.memory() + "/memory.limit_in_bytes", "128M");
  job->read_later();
  EXPECT_TRUE(job->capacity.changed());
  EXPECT_EQ(job->at("capacity_millicores"), 250);
  EXPECT_EQ(job->at("capacity_memory_bytes"), 128 * kMib);
}

TEST_F(JobLive, CountsTimeAsTheProcessDoes) {
  constexpr std::int64_t kBurn = 200 * kMilli;
  act([](const Cue& cue) {
    burn(kBurn);
    cue.tell(0);
  });
  job->read();
  const std::int64_t clock_before = cpu_clock_ns();
  const record::Value before = job->at("cpu_time_ns");
  actor->go();
  actor->heard();
  EXPECT_TRUE(eventually([&] {  // as soon as it sleeps
    job->read();
    const std::int64_t truth = cpu_clock_ns() - clock_before;
    return std::abs(job->at("cpu_time_ns") - before - truth) <= truth / 100;
  }));
  EXPECT_GE(job->at("cpu_time_ns") - before, kBurn);
}

TEST_F(JobLive, CountsHowLongTheQuotaHeldItBack) {
  LiveGroups::put(groups.cpu() + "/cpu.cfs_quota_us",
                  "5000");  // less than a busy machine leaves it
  act([](const Cue&) { burn(60'000 * kMilli); });
  actor->go();
  const std::int64_t begin_ns = base::monotonic_ns();
  ASSERT_TRUE(eventually([&] {
    job->read();
    return job->at("throttled_periods") >= 3;
  }));
  const std::int64_t wall_ns = base::monotonic_ns() - begin_ns;
  EXPECT_GE(job->at("throttled_ns"), 50 * kMilli);
  EXPECT_LE(job->at("throttled_ns"), wall_ns);
  EXPECT_LE(job->at("cpu_time_ns"), wall_ns / 4);
}

TEST_F(JobLive, CountsMemoryByKind) {
  constexpr std::int64_t kBytes = 128 * kMib;
  act([](const Cue& cue) {
    occupy(kBytes);
    cue.tell(0);
  });
  const record::Value before = job->at("memory_bytes");
  const record::Value anonymous = job->at("memory_anonymous_bytes");
  actor->go();
  actor->heard();
  job->read();
  EXPECT_NEAR(static_cast<double>(job->at("memory_anonymous_bytes") - anonymous), kBytes,
              kBytes * 0.01);
  EXPECT_NEAR(static_cast<double>(job->at("memory_bytes") - before), kBytes, kBytes * 0.02);
  EXPECT_GE(job->at("memory_peak_bytes"), kBytes);
  EXPECT_EQ(job->at("memory_is_upper_bound"), 0);
}

TEST_F(JobLive, CountsWhomItsLimitKills) {
  act([](const Cue& cue) {
    wait_for(child([] { occupy(static_cast<std::size_t>(512 * kMib)); }));
    cue.tell(0);
  });
  EXPECT_EQ(job->at("oom_kills"), 0);
  actor->go();
  actor->heard();
  job->read();
  EXPECT_EQ(job->at("oom_kills"), 1);
}

TEST_F(JobLive, KeepsCountersAndLimitsWhenTheProcessAndItsGroupsAreGone) {
  act([](const Cue& cue) {
    burn(20 * kMilli);
    cue.tell(0);
  });
  actor->go();
  actor->heard();
  job->read();
  const record::Value used = job->at("cpu_time_ns");
  EXPECT_GE(used, 20 * kMilli);
  actor->kill();
  ASSERT_TRUE(LiveGroups::remove(groups.cpu()));
  ASSERT_TRUE(LiveGroups::remove(groups.memory()));
  for (int i = 0; i < 12; ++i) job->read_later();
  EXPECT_EQ(job->capacity.usable().millicores, 500);
  EXPECT_EQ(job->capacity.usable().memory_bytes, 256 * kMib);
  EXPECT_FALSE(job->capacity.changed());
  EXPECT_GE(job->at("cpu_time_ns"), used);
  EXPECT_EQ(job->at("memory_bytes"), record::unknown(record::State::kVanished));
}

TEST_F(JobLive, FollowsTheProcessIntoAnotherGroup) {
  act([](const Cue&) {});
  const std::string inner = groups.cpu() + "/inner";
  ASSERT_EQ(::mkdir(inner.c_str(), 0755), 0);
  LiveGroups::put(inner + "/cpu.cfs_quota_us", "20000");
  LiveGroups::put(inner + "/cgroup.procs", std::to_string(actor->pid()));
  job->read_later();
  EXPECT_EQ(job->at("capacity_millicores"), 200);
  EXPECT_TRUE(job->capacity.limits().cpu_millicores().group.ends_with("/inner"));
  actor.reset();
  EXPECT_TRUE(LiveGroups::remove(inner));
}

}  // namespace
}  // namespace probe
