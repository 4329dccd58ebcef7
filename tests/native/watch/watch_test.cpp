#include "watch/watch.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/clock.hpp"
#include "store/recording.hpp"
#include "store/summary.hpp"
#include "watch/stack_text.hpp"

namespace watch {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kLongNs = 20 * kSecondNs;

// Looks at `condition` until it holds; false when it doesn't within a long time.
bool await(const std::function<bool()>& condition) {
  const std::int64_t until_ns = base::monotonic_ns() + kLongNs;
  while (!condition()) {
    if (base::monotonic_ns() > until_ns) return false;
    ::poll(nullptr, 0, 2);
  }
  return true;
}

class WatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "jumper-watch-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    std::filesystem::remove_all(directory_);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  }

  Watch make(const std::string& program = JUMPER_PROGRAM, double rate_hz = 50) {
    return {{program, "a test", rate_hz, true, true, {}}, create_recording(directory_)};
  }
  static store::Recording recording_of(Watch& watch) {
    store::Recording recording = store::Recording::follow(watch.recording_fd());
    const auto [fd, offset] = watch.spill();
    recording.set_spill(fd, offset);
    recording.refresh();
    return recording;
  }
  static std::int64_t run_cell(Watch& watch, std::string_view source) {
    const std::int64_t index = watch.begin(source, std::nullopt);
    watch.end(index, record::Outcome::kOk, std::nullopt);
    return index;
  }

  std::string directory_;
};

TEST_F(WatchTest, RecordsACellBetweenTwoEdgeSamples) {
  Watch watch = make();
  const std::int64_t index = watch.begin("x = 1", 7);
  EXPECT_EQ(index, 1);
  watch.end(index, record::Outcome::kError, 7);
  ASSERT_TRUE(watch.wait(index, kLongNs));
  const store::Recording recording = recording_of(watch);
  ASSERT_THAT(recording.cells(), SizeIs(1));
  const store::Cell& cell = recording.cells()[0];
  EXPECT_EQ(recording.source(cell), "x = 1");
  EXPECT_EQ(cell.execution_count(), 7);
  EXPECT_EQ(cell.end->outcome, record::Outcome::kError);
  EXPECT_GE(cell.begin.sample_ns, cell.begin.time_ns);
  EXPECT_GE(cell.end->sample_ns, cell.end->time_ns);
  EXPECT_THAT(watch.pending_cells(), IsEmpty());
  EXPECT_THAT(watch.take_warnings(), IsEmpty());
}

TEST_F(WatchTest, SaysWhatIsRecordedBeforeTheRowsOfACellThatBeganBeforeTheSampler) {
  Watch watch = make();
  const std::int64_t index = run_cell(watch, "at once");
  ASSERT_TRUE(watch.wait(index, kLongNs));
  std::string bytes(*base::file_size(watch.recording_fd()), '\0');
  ASSERT_TRUE(base::read_at(watch.recording_fd(), bytes, 0));
  record::LogReader reader(bytes);
  EXPECT_EQ(reader.next()->kind, record::ChunkKind::kMachine);
  EXPECT_EQ(reader.next()->kind, record::ChunkKind::kSchema);
  EXPECT_EQ(recording_of(watch).machine()->label, "a test");
}

TEST_F(WatchTest, EndsTheRecordingAndTheSamplerWhenItIsClosed) {
  std::string path;
  std::int64_t pid = 0;
  {
    Watch watch = make();
    path = watch.path();
    pid = watch.state().sampler_pid.value();
    run_cell(watch, "x");
  }
  EXPECT_TRUE(await([&] { return ::kill(static_cast<pid_t>(pid), 0) != 0; }));
  const store::Recording recording = store::Recording::open(path);
  ASSERT_TRUE(recording.end());
  EXPECT_EQ(recording.end()->cause, record::EndCause::kClosed);
  EXPECT_THAT(recording.cells(), SizeIs(1));
  EXPECT_THAT(recording.damages(), IsEmpty());
}

TEST_F(WatchTest, AnswersWhoAsksForStacksOnItsOwnThread) {
  std::atomic<int> asked = 0;
  WatchOptions options{JUMPER_PROGRAM, "a test", 50, true, true};
  const auto caller = std::this_thread::get_id();
  options.stacks = [&] {
    EXPECT_NE(std::this_thread::get_id(), caller);
    return "stacks " + std::to_string(++asked);
  };
  Watch watch(std::move(options), create_recording(directory_));
  ASSERT_TRUE(watch.wait(run_cell(watch, "x"), kLongNs));  // its sampler listens by now
  for (int time = 1; time <= 2; ++time) {
    ASSERT_EQ(::kill(static_cast<pid_t>(watch.state().sampler_pid.value()), SIGUSR1), 0);
    const std::string answer = "stacks " + std::to_string(time);
    EXPECT_TRUE(await([&] {
      const auto stacks = recording_of(watch).stacks();
      return stacks && stacks->text == answer && stacks->time_ns > 0;
    }));
  }
  EXPECT_THAT(recording_of(watch).cells(), SizeIs(1));
  EXPECT_EQ(watch.state().restarts, 0);
}

TEST_F(WatchTest, LetsNoCellWaitForStacks) {
  std::atomic<bool> reads = false;
  std::atomic<bool> go_on = false;
  WatchOptions options{JUMPER_PROGRAM, "a test", 50, true, true};
  options.stacks = [&] {
    reads = true;
    EXPECT_TRUE(await([&] { return go_on.load(); }));
    return std::string(1 << 20, 'x');
  };
  Watch watch(std::move(options), create_recording(directory_));
  ASSERT_TRUE(watch.wait(run_cell(watch, "x"), kLongNs));
  ASSERT_EQ(::kill(static_cast<pid_t>(watch.state().sampler_pid.value()), SIGUSR1), 0);
  ASSERT_TRUE(await([&] { return reads.load(); }));
  EXPECT_EQ(run_cell(watch, "while they are read"), 2);
  EXPECT_TRUE(await([&] { return recording_of(watch).cells().size() == 2; }));
  go_on = true;
  EXPECT_TRUE(await([&] { return recording_of(watch).stacks().has_value(); }));
  EXPECT_EQ(recording_of(watch).stacks()->text.size(), kMostStackTextBytes);
}

TEST_F(WatchTest, SaysThatItHasNoStacks) {
  Watch watch = make();
  ASSERT_TRUE(watch.wait(run_cell(watch, "x"), kLongNs));
  ASSERT_EQ(::kill(static_cast<pid_t>(watch.state().sampler_pid.value()), SIGUSR1), 0);
  EXPECT_TRUE(await([&] { return recording_of(watch).stacks().has_value(); }));
  EXPECT_EQ(recording_of(watch).stacks()->text, "this process runs no Python of ours");
}

// Fault: C4
TEST_F(WatchTest, CarriesSourceOfAnySize) {
  Watch watch = make();
  for (const std::size_t size :
       {0UL, 1UL, 32UL << 10, (32UL << 10) + 1, 1UL << 20, (8UL << 20) + 5}) {
    const std::string source(size, 'x');
    const std::int64_t index = run_cell(watch, source);
    ASSERT_TRUE(watch.wait(index, kLongNs)) << size;
    const store::Recording recording = recording_of(watch);
    const store::Cell* cell = recording.cell(index);
    ASSERT_NE(cell, nullptr);
    EXPECT_EQ(recording.source(*cell), source.substr(0, record::kMostSourceBytes));
    EXPECT_EQ(cell->begin.source_bytes, static_cast<std::int64_t>(size));
  }
}

TEST_F(WatchTest, KeepsTheBeginOfLongSourceWhenThereIsNoDescriptorLeftToSendIt) {
  Watch watch = make();
  ASSERT_TRUE(watch.wait(run_cell(watch, "before"), kLongNs));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};  // what is open stays open
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string source(1U << 20, 'x');
  const std::int64_t index = run_cell(watch, source);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(watch.wait(index, kLongNs));
  const store::Recording recording = recording_of(watch);
  const store::Cell* cell = recording.cell(index);
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(recording.source(*cell), source.substr(0, record::kMostInlineSourceBytes));
  EXPECT_EQ(cell->begin.source_bytes, static_cast<std::int64_t>(source.size()));
}

TEST_F(WatchTest, MayBeClosedByTwoThreadsAtOnce) {
  Watch watch = make();
  ASSERT_TRUE(watch.wait(run_cell(watch, "x"), kLongNs));
  std::thread other([&watch] { watch.close(); });
  watch.close();
  other.join();
  EXPECT_FALSE(watch.is_live());
}

// Fault: C4
TEST_F(WatchTest, TakesMoreCellsThanTheSocketHolds) {
  Watch watch = make();
  std::int64_t last = 0;
  for (int i = 0; i < 2000; ++i) last = run_cell(watch, std::string(500, 'x'));
  ASSERT_TRUE(watch.wait(last, kLongNs));
  ASSERT_TRUE(await([&] { return watch.pending_cells().empty(); }));
  EXPECT_THAT(recording_of(watch).cells(), SizeIs(2000));
}

TEST_F(WatchTest, KeepsAGroupOverTheDeathOfItsSampler) {
  Watch watch = make();
  const auto pid = static_cast<pid_t>(watch.state().sampler_pid.value());
  run_cell(watch, "before");
  EXPECT_EQ(watch.begin_group("train"), 1);
  EXPECT_EQ(watch.begin_group("another"), 0);  // one is open
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  run_cell(watch, "in it");
  EXPECT_THAT(watch.pending_groups(), SizeIs(1));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_TRUE(watch.end_group(false));
  EXPECT_FALSE(watch.end_group(false));
  const std::int64_t last = run_cell(watch, "behind");
  ASSERT_TRUE(await([&] { return watch.wait(last, kLongNs); }));
  ASSERT_TRUE(await([&] { return watch.pending_cells().empty(); }));
  EXPECT_THAT(watch.pending_groups(), IsEmpty());
  const store::Recording recording = recording_of(watch);
  ASSERT_THAT(recording.groups(), SizeIs(1));
  EXPECT_EQ(recording.groups()[0].name, "train");
  EXPECT_EQ(recording.cell(2)->group, 1);
  EXPECT_EQ(recording.cell(3)->group, 0);
}

TEST_F(WatchTest, KeepsCellsWhileTheSamplerIsStopped) {
  Watch watch = make();
  const auto pid = static_cast<pid_t>(watch.state().sampler_pid.value());
  ASSERT_TRUE(watch.wait(run_cell(watch, "before"), kLongNs));
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  const std::int64_t begin_ns = base::monotonic_ns();
  for (int i = 0; i < 500; ++i) run_cell(watch, std::string(2000, 'y'));
  EXPECT_LT(base::monotonic_ns() - begin_ns, kLongNs / 2);  // nobody waited for it
  EXPECT_FALSE(watch.wait(501, kSecondNs / 100));
  EXPECT_THAT(watch.pending_cells(), SizeIs(500));
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  ASSERT_TRUE(watch.wait(501, kLongNs));
  ASSERT_TRUE(await([&] { return watch.pending_cells().empty(); }));
  EXPECT_THAT(recording_of(watch).cells(), SizeIs(501));
}

TEST_F(WatchTest, StartsAnotherSamplerThatGoesOnAfterAGap) {
  Watch watch = make();
  ASSERT_TRUE(watch.wait(run_cell(watch, "before"), kLongNs));
  const std::int64_t pid = watch.state().sampler_pid.value();
  const std::int64_t during = watch.begin("during", std::nullopt);
  ASSERT_EQ(::kill(static_cast<pid_t>(pid), SIGKILL), 0);
  ASSERT_TRUE(await([&] { return !watch.state().lost.empty(); }));
  watch.end(during, record::Outcome::kOk, std::nullopt);
  EXPECT_FALSE(watch.wait(during, kSecondNs / 100));
  ASSERT_TRUE(await([&] { return watch.state().sampler_pid.has_value(); }));
  EXPECT_NE(watch.state().sampler_pid, pid);
  ASSERT_TRUE(watch.wait(during, kLongNs));
  const store::Recording recording = recording_of(watch);
  EXPECT_THAT(recording.cells(), SizeIs(2));
  ASSERT_THAT(recording.gaps(), SizeIs(1));
  EXPECT_EQ(recording.gaps()[0].reason, record::GapReason::kSamplerLost);
  EXPECT_EQ(watch.state().restarts, 1);
  EXPECT_THAT(watch.take_warnings(), SizeIs(1));
  EXPECT_THAT(watch.take_warnings(), IsEmpty());
}

// A child that waits until it is killed.
pid_t waiting_child() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  return pid;
}

TEST_F(WatchTest, TellsEachSamplerWhoIsApart) {
  Watch watch = make();
  // Of a cell that a sampler has seen: the first ones may be over before it has come.
  const auto processes_in = [&](const std::string& source) {
    std::optional<std::int64_t> found;
    EXPECT_TRUE(await([&] {
      const std::int64_t index = run_cell(watch, source);
      EXPECT_TRUE(await([&] { return watch.wait(index, kLongNs); }));
      const store::Recording recording = recording_of(watch);
      const auto summary = store::summarize(recording, *recording.cell(index));
      const auto level = std::ranges::find(summary.levels, "process", &store::LevelSummary::name);
      if (level != summary.levels.end()) found = level->processes_max;
      return found.has_value();
    }));
    return found.value_or(-1);
  };
  const pid_t apart = waiting_child();
  const pid_t other = waiting_child();
  watch.set_apart(0x3fffffff, true);  // there is none: nobody is told
  EXPECT_EQ(processes_in("both"), 3);
  watch.set_apart(apart, true);
  EXPECT_EQ(processes_in("one"), 2);
  ASSERT_EQ(::kill(static_cast<pid_t>(watch.state().sampler_pid.value()), SIGKILL), 0);
  ASSERT_TRUE(await([&] { return watch.state().restarts == 1; }));
  ASSERT_TRUE(await([&] { return watch.state().sampler_pid.has_value(); }));
  EXPECT_EQ(processes_in("to another sampler"), 2);
  watch.set_apart(apart, false);
  EXPECT_EQ(processes_in("both again"), 3);
  for (const pid_t pid : {apart, other}) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

TEST_F(WatchTest, KeepsHistoryWithoutAnySampler) {
  for (const std::string program : {"", "/nonexistent/jumper"}) {
    Watch watch = make(program);
    const std::int64_t index = watch.begin("x", 1);
    watch.end(index, record::Outcome::kOk, 1);
    EXPECT_FALSE(watch.wait(index, kLongNs));
    ASSERT_THAT(watch.pending_cells(), SizeIs(1));
    EXPECT_EQ(watch.pending_cells()[0].begin.source, "x");
    EXPECT_TRUE(watch.pending_cells()[0].end);
    const auto warnings = watch.take_warnings();
    ASSERT_THAT(warnings, SizeIs(1));
    EXPECT_THAT(warnings[0], HasSubstr("cells are kept without samples"));
    EXPECT_THAT(watch.state().lost, HasSubstr("jumper"));
    watch.close();
    EXPECT_THAT(watch.pending_cells(), SizeIs(1));
  }
}

TEST_F(WatchTest, NeverWritesToDescriptorsThatItsUserClosed) {
  Watch watch = make();
  ASSERT_TRUE(watch.wait(run_cell(watch, "before"), kLongNs));
  // A cell that closes everything it finds, and then opens files of its own.
  ::close_range(3, 500, 0);
  std::vector<base::File> own;
  for (int i = 0; i < 60; ++i) {
    own.push_back(
        base::File::open(directory_ + "/own" + std::to_string(i), O_RDWR | O_CREAT, 0600));
  }
  const std::int64_t index = run_cell(watch, "after");
  EXPECT_TRUE(await([&] { return watch.wait(index, kSecondNs / 100); }));
  EXPECT_EQ(watch.state().restarts, 1);
  for (const base::File& file : own) EXPECT_EQ(base::file_size(file.fd()), 0U);
  const std::string path = watch.path();
  watch.close();
  for (const base::File& file : own) EXPECT_NE(::fcntl(file.fd(), F_GETFD), -1);
  EXPECT_THAT(store::Recording::open(path).cells(), SizeIs(2));
}

TEST_F(WatchTest, DoesNothingInAForkedChild) {
  Watch watch = make();
  ASSERT_TRUE(watch.wait(run_cell(watch, "parent"), kLongNs));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool quiet = watch.begin("child", 1) == 0 && !watch.wait(1, 0) &&
                       watch.pending_cells().empty() && !watch.is_owner();
    watch.close();
    ::_exit(quiet ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(watch.wait(run_cell(watch, "parent again"), kLongNs));
  EXPECT_THAT(recording_of(watch).cells(), SizeIs(2));
}

TEST_F(WatchTest, ChangesTheRateOfTheTicks) {
  Watch watch = make(JUMPER_PROGRAM, 0.1);
  ASSERT_TRUE(watch.wait(run_cell(watch, "before"), kLongNs));  // the sampler is there
  watch.set_rate(1000);
  const std::int64_t index = watch.begin("x", std::nullopt);
  ::poll(nullptr, 0, 100);  // the work of the cell
  watch.end(index, record::Outcome::kOk, std::nullopt);
  ASSERT_TRUE(watch.wait(index, kLongNs));
  const store::Recording recording = recording_of(watch);
  EXPECT_GT(store::summarize(recording, *recording.cell(index)).ticks, 10);
  EXPECT_EQ(recording.settings().back().rate_hz, 1000);
}

TEST_F(WatchTest, MarksFromManyThreadsKeepTheirOwnIndices) {
  Watch watch = make();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&watch] {
      for (int i = 0; i < 100; ++i) run_cell(watch, "x");
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(await([&] { return watch.pending_cells().empty(); }));
  const store::Recording recording = recording_of(watch);
  ASSERT_THAT(recording.cells(), SizeIs(400));
  for (std::int64_t index = 1; index <= 400; ++index) {
    ASSERT_NE(recording.cell(index), nullptr);
    EXPECT_TRUE(recording.cell(index)->end);
  }
}

}  // namespace
}  // namespace watch
