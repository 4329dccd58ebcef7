#include "store/liveness.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

record::Machine this_machine() {
  record::Machine machine;
  machine.boot_id = base::read_small_file("/proc/sys/kernel/random/boot_id").value_or("");
  while (machine.boot_id.ends_with('\n')) machine.boot_id.pop_back();
  machine.root_pid = getpid();
  machine.root_start_ticks = start_ticks(base::read_small_file("/proc/self/stat").value_or(""));
  return machine;
}

TEST(Liveness, ReadsTheStartTimeBehindAnyName) {
  EXPECT_EQ(start_ticks("4242 (a) b) S 1 4242 4242 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 5283 "
                        "1000 10 18446744073709551615"),
            5283);
  EXPECT_EQ(start_ticks("4242 (cut) S 1 2 3"), -1);
  EXPECT_EQ(start_ticks(""), -1);
}

TEST(Liveness, BelievesInTheSameProcessOnly) {
  record::Machine machine = this_machine();
  EXPECT_TRUE(may_still_run(machine, 0));
  ++machine.root_start_ticks;
  EXPECT_FALSE(may_still_run(machine, 0));
  EXPECT_TRUE(may_still_run(machine, base::monotonic_ns() - kSecond));
  EXPECT_FALSE(may_still_run(machine, base::monotonic_ns() - 6 * kSecond));
  machine = this_machine();
  machine.boot_id = "another";
  EXPECT_FALSE(may_still_run(machine, base::monotonic_ns()));
}

TEST(Liveness, KnowsThatAZombieHasEnded) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  record::Machine machine = this_machine();
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  machine.root_pid = child;
  machine.root_start_ticks = start_ticks(base::read_small_file(stat).value_or(""));
  EXPECT_GE(machine.root_start_ticks, 0);
  EXPECT_FALSE(may_still_run(machine, 0));
  ::waitpid(child, nullptr, 0);
}

TEST(Liveness, OfAnOpenedRecordingMakesItsCellsRun) {
  Recorder recorder;
  record::Machine machine = this_machine();
  machine.wall_offset_ns = kWall;
  recorder.add(machine);
  recorder.add(cell_begin(kStart, kStart));
  recorder.edge(kStart);
  EXPECT_TRUE(summary_of(recorder.open()).running);
  recorder.add(record::End{kStart + kSecond});
  const CellSummary closed = summary_of(recorder.open());
  EXPECT_FALSE(closed.running);
  EXPECT_EQ(closed.outcome, record::Outcome::kInterrupted);
  EXPECT_EQ(closed.outcome_text, "the recording was closed in this cell");
}

TEST(Liveness, OfARecordingMakesItsReaderWaitWhileRowsAreHalfSealed) {
  Recorder recorder;
  recorder.add(this_machine());
  for (std::int64_t time = 1; time <= 9; ++time) recorder.row(time);
  const std::string plain = recorder.bytes();
  const std::size_t half = recorder.writer().open_offset() + 40;
  recorder.seal();
  const std::string sealed = recorder.bytes();
  ASSERT_LT(half, sealed.size());
  const base::File file = file_of(plain);
  ASSERT_TRUE(base::write_at(file.fd(), std::string_view(sealed).substr(0, half), 0));
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // it was pre-empted
    EXPECT_TRUE(base::write_at(file.fd(), sealed, 0));
    EXPECT_EQ(::ftruncate(file.fd(), static_cast<off_t>(sealed.size())), 0);
  });
  const Recording recording = Recording::open(path_of(file));
  writer.join();
  EXPECT_TRUE(recording.damages().empty());
  EXPECT_EQ(recording.last_sample_ns(), 9);
}

}  // namespace
}  // namespace store
