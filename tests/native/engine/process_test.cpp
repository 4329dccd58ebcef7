#include "engine/process.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/error.hpp"
#include "base/process.hpp"
#include "base/socket.hpp"
#include "engine/deadline.hpp"
#include "engine/open_files.hpp"

namespace engine {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using How = Ended::How;

constexpr const char* kPath = "PATH=/usr/bin:/bin";

std::int64_t soon() { return in_seconds(20); }

Process shell(const std::string& script, int channel_fd = -1) {
  return Process::start(
      {.command = {"sh", "-c", script}, .environment = {kPath}, .channel_fd = channel_fd});
}

// What comes until the pipe ends or, with `until`, until that has come.
std::string said(int fd, std::string_view until = "") {
  std::string text;
  while (until.empty() || text.find(until) == text.npos) {
    pollfd entry{fd, POLLIN, 0};
    if (::poll(&entry, 1, 20'000) != 1) return text + " (and then nothing for 20 s)";
    std::array<char, 4096> buffer{};
    const Reading reading = read_available(fd, buffer);
    if (reading.status == Reading::Status::kEnd) break;
    text.append(buffer.data(), reading.size);
  }
  return text;
}

bool ends(const base::File& pidfd) {
  pollfd entry{pidfd.fd(), POLLIN, 0};
  return ::poll(&entry, 1, 20'000) == 1;
}

// A pidfd of the process whose number the text ends with.
base::File named_in(const std::string& text) {
  return base::open_pidfd(static_cast<pid_t>(std::strtol(text.c_str(), nullptr, 10)));
}

TEST(Process, TellsTheStatusItExitedWith) {
  Process process = shell("exit 3");
  const auto ended = process.wait(soon());
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->how, How::kExited);
  EXPECT_EQ(describe(*ended), "exited with status 3");
}

TEST(Process, TellsTheSignalThatKilledIt) {
  Process process = shell("kill -TERM $$");
  const auto ended = process.wait(soon());
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->how, How::kKilled);
  EXPECT_EQ(describe(*ended), "killed by signal 15 (Terminated)");
}

TEST(Process, IsUnknownWhenSomebodyElseReapedIt) {
  Process process = shell("exit 3");
  EXPECT_EQ(::waitpid(process.pid(), nullptr, 0), process.pid());
  const auto ended = process.wait(soon());
  ASSERT_TRUE(ended);
  EXPECT_EQ(describe(*ended), "ended, status unknown: reaped by somebody else");
  EXPECT_FALSE(process.interrupt());
  EXPECT_FALSE(process.kill());
}

TEST(Process, KeepsTheStatusThatItSawBeforeSomebodyReaped) {
  Process process = shell("exit 3");
  ASSERT_TRUE(process.wait(soon()));
  EXPECT_EQ(::waitpid(process.pid(), nullptr, 0), process.pid());
  EXPECT_EQ(process.wait(soon())->status, 3);
}

TEST(Process, IsStillRunningAtADeadline) {
  Process process = shell("exec sleep 100");
  EXPECT_FALSE(process.wait(0));
  EXPECT_FALSE(process.wait(in_seconds(0.01)));
}

TEST(Process, StopsASleepingChildWhenInterrupted) {
  Process process = shell("exec sleep 100");
  EXPECT_TRUE(process.interrupt());
  const auto ended = process.wait(soon());
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->signal, SIGINT);
}

TEST(Process, StopsWhenTerminated) {
  Process process = shell("exec sleep 100");
  EXPECT_TRUE(process.terminate());
  EXPECT_EQ(process.wait(soon())->signal, SIGTERM);
}

TEST(Process, KillsAStubbornChildThatSurvivesAnInterrupt) {
  Process process = shell("trap 'echo no' INT; echo ready; while :; do sleep 0.01; done");
  said(process.output_fd(), "ready");
  EXPECT_TRUE(process.interrupt());
  EXPECT_THAT(said(process.output_fd(), "no"), HasSubstr("no"));
  EXPECT_FALSE(process.wait(0));
  EXPECT_TRUE(process.kill());
  EXPECT_EQ(process.wait(soon())->signal, SIGKILL);
}

TEST(Process, KillsGrandchildrenInItsGroup) {
  Process process = shell("sleep 100 & echo $!; wait");
  const base::File grandchild = named_in(said(process.output_fd(), "\n"));
  ASSERT_TRUE(grandchild.valid());
  EXPECT_TRUE(process.kill());
  EXPECT_TRUE(ends(grandchild));
}

TEST(Process, KillsGrandchildrenThatOutlivedIt) {
  Process process = shell("sleep 100 & echo $!");
  const base::File grandchild = named_in(said(process.output_fd(), "\n"));
  ASSERT_TRUE(grandchild.valid());
  ASSERT_TRUE(process.wait(soon()));
  EXPECT_FALSE(base::has_ended(grandchild.fd()));
  process = Process();
  EXPECT_TRUE(ends(grandchild));
}

TEST(Process, OutlivesAForkedCopyOfThisProcess) {
  Process process = shell("exec sleep 100");
  const pid_t copy = ::fork();
  if (copy == 0) {
    const bool reached = process.interrupt() || process.kill();
    process = Process();
    ::_exit(reached ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(copy, &status, 0), copy);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(process.wait(0));
  EXPECT_TRUE(process.kill());
}

TEST(Process, IsAtTheHeadOfItsOwnGroup) {
  Process process = shell("cut -d' ' -f5 /proc/$$/stat");
  EXPECT_EQ(said(process.output_fd()), std::to_string(process.pid()) + "\n");
}

TEST(Process, InheritsTheChannelAndAPidfdOfThisProcessAndNothingElse) {
  auto [ours, theirs] = base::make_socket_pair();
  const base::File inheritable(::fcntl(ours.fd(), F_DUPFD, 200));
  // 5 is the directory that ls itself reads.
  Process list = shell("exec ls /proc/self/fd", theirs.fd());
  EXPECT_EQ(said(list.output_fd()), "0\n1\n2\n3\n4\n5\n");
  Process links = shell("cd /proc/$$/fd; readlink 0 3 4; grep Pid: ../fdinfo/4", theirs.fd());
  struct stat socket{};
  ASSERT_EQ(::fstat(theirs.fd(), &socket), 0);
  const std::string text = said(links.output_fd());
  EXPECT_THAT(text, HasSubstr("/dev/null\nsocket:[" + std::to_string(socket.st_ino) + "]\n"));
  EXPECT_THAT(text, HasSubstr("pidfd"));
  EXPECT_THAT(text, HasSubstr("Pid:\t" + std::to_string(::getpid()) + "\n"));
}

TEST(Process, HasNoDescriptor3WithoutAChannel) {
  Process process = shell("exec ls /proc/self/fd");
  EXPECT_EQ(said(process.output_fd()), "0\n1\n2\n3\n4\n");  // 3 is what ls reads
}

TEST(Process, StartsWithDefaultSignals) {
  ::signal(SIGUSR1, SIG_IGN);
  Process process = [] {
    const base::SignalsBlocked blocked;
    return shell("grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '\\t\\n'");
  }();
  ::signal(SIGUSR1, SIG_DFL);
  // 32 and 33 are glibc's own: its posix_spawn may leave them ignored, its programs handle them.
  EXPECT_THAT(said(process.output_fd()),
              MatchesRegex("SigBlk:0000000000000000SigIgn:0000000[01][08]0000000"));
}

TEST(Process, GetsTheEnvironmentAndDirectoryThatWereSaid) {
  Process process = Process::start({.command = {"sh", "-c", "echo $X; pwd; echo problem >&2"},
                                    .environment = {kPath, "X=a b"},
                                    .directory = "/usr"});
  EXPECT_EQ(said(process.output_fd()), "a b\n/usr\n");
  EXPECT_EQ(said(process.errors_fd()), "problem\n");
}

TEST(Process, GivesItsOutputInBoundedPieces) {
  Process process = shell("printf abcdef");
  ASSERT_TRUE(process.wait(soon()));
  std::array<char, 4> buffer{};
  EXPECT_EQ(read_available(process.output_fd(), buffer).size, 4U);
  EXPECT_EQ(read_available(process.output_fd(), buffer).size, 2U);
  EXPECT_EQ(read_available(process.output_fd(), buffer).status, Reading::Status::kEnd);
  Process quiet = shell("exec sleep 100");
  EXPECT_EQ(read_available(quiet.output_fd(), buffer).status, Reading::Status::kEmpty);
}

std::string refusal_of(const Process::Start& start) {
  try {
    Process::start(start);
  } catch (const base::Error& error) {
    return error.what();
  }
  return "it was started";
}

TEST(Process, NamesAProgramThatCanNotBeStarted) {
  EXPECT_EQ(refusal_of({.command = {"no-such-tool", "-x"}}),
            "cannot start 'no-such-tool': No such file or directory; is it installed, "
            "and on PATH?");
  EXPECT_THAT(refusal_of({.command = {"/etc/passwd"}}), HasSubstr("Permission denied"));
  EXPECT_THAT(refusal_of({}), HasSubstr("the command is empty"));
  EXPECT_THAT(refusal_of({.command = {"sh"}, .directory = "/no/such"}),
              HasSubstr("cannot start 'sh': its directory '/no/such': No such file"));
}

TEST(Process, LeavesNothingBehind) {
  const auto before = open_files();
  {
    Process running = shell("exec sleep 100");
    Process moved = std::move(running);
    Process ended = shell("true");
    ASSERT_TRUE(ended.wait(soon()));
    refusal_of({.command = {"no-such-tool"}});
  }
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

// This program again, on an older system: what its tests said.
std::string older_system(const std::string& failpoints, const std::string& tests) {
  Process process = Process::start({.command = {"/proc/self/exe", "--gtest_filter=" + tests},
                                    .environment = {kPath, "JUMPER_FAILPOINTS=" + failpoints}});
  const std::string text = said(process.output_fd());
  const auto ended = process.wait(soon());
  return ended && ended->how == How::kExited && ended->status == 0 ? "passed" : text;
}

TEST(Process, IsStartedWatchedAndSignalledWithoutPidfds) {
  EXPECT_EQ(older_system("pidfd=38@1+",
                         "Process.Tells*:Process.Stops*:Process.IsStill*:"
                         "Process.IsUnknown*:Process.KillsAStubborn*"),
            "passed");
}

TEST(Process, SignalsItsGroupByNumberWhereAPidfdCanNotNameIt) {
  EXPECT_EQ(older_system("group_signal=22@1+",
                         "Process.Stops*:Process.Kills*:Process.IsUnknown*:Process.Leaves*"),
            "passed");
}

TEST(WatchParent, KillsTheGroupWhenTheParentHasEnded) {
  auto [here, there] = base::make_socket_pair();
  const pid_t parent = ::fork();
  if (parent == 0) {
    base::File self = base::open_pidfd(::getpid());
    if (::fork() == 0) {  // the engine
      ::setpgid(0, 0);
      const bool watched = watch_parent(std::move(self));
      const pid_t grandchild = ::fork();
      if (grandchild == 0) {
        for (;;) ::pause();
      }
      const std::array<pid_t, 2> numbers{::getpid(), watched ? grandchild : -1};
      base::send_message(there.fd(),
                         {reinterpret_cast<const char*>(numbers.data()), sizeof numbers});
    }
    for (;;) ::pause();
  }
  pollfd entry{here.fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, 20'000), 1);
  std::array<pid_t, 2> numbers{};
  base::receive_message(here.fd(), {reinterpret_cast<char*>(numbers.data()), sizeof numbers});
  const base::File engine = base::open_pidfd(numbers[0]);
  const base::File grandchild = base::open_pidfd(numbers[1]);
  ASSERT_TRUE(engine.valid() && grandchild.valid());
  EXPECT_FALSE(base::has_ended(engine.fd()));
  ::kill(parent, SIGKILL);
  EXPECT_TRUE(ends(engine));
  EXPECT_TRUE(ends(grandchild));
  EXPECT_EQ(::waitpid(parent, nullptr, 0), parent);
}

TEST(WatchParent, TakesOnlyAPidfd) {
  EXPECT_FALSE(watch_parent(base::File::open("/dev/null", O_RDONLY)));
  EXPECT_FALSE(watch_parent(base::File()));
}

}  // namespace
}  // namespace engine
