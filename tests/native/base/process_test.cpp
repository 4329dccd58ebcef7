#include "base/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/socket.hpp"

namespace base {
namespace {

// Runs `script` hidden with one end of a socket on its descriptor 3; what it wrote there.
std::string answer_of(const std::string& script) {
  auto [ours, theirs] = make_socket_pair();
  const std::array descriptors{theirs.fd()};
  const HiddenChild child = start_hidden("/bin/sh", {"sh", "-c", script}, descriptors);
  theirs.close();
  std::string answer;
  for (;;) {
    pollfd entry{ours.fd(), POLLIN, 0};
    if (::poll(&entry, 1, 10'000) != 1) break;
    std::array<char, 4096> buffer{};
    const Received received = receive_message(ours.fd(), buffer);
    if (received.status != Received::Status::kMessage) break;
    answer.append(buffer.data(), received.size);
  }
  return answer;
}

TEST(StartHidden, HandsOverTheDescriptorsAndNoOthers) {
  const File extra = File::open("/dev/null", O_RDONLY);
  // 4 is the directory that ls itself reads.
  EXPECT_EQ(answer_of("exec ls /proc/self/fd >&3"), "0\n1\n2\n3\n4\n");
}

TEST(StartHidden, GivesTheChildItsOwnSessionAndDirectory) {
  EXPECT_EQ(answer_of("pwd >&3"), "/\n");
  const std::string session = answer_of("cut -d' ' -f6 /proc/$$/stat >&3");
  EXPECT_NE(session, std::to_string(::getsid(0)) + "\n");
}

TEST(StartHidden, IsSeenByNoWaitAndNoSignal) {
  static volatile std::sig_atomic_t signals = 0;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) { signals = signals + 1; };
  ::sigaction(SIGCHLD, &action, &before);
  const HiddenChild child = start_hidden("/bin/true", {"true"}, {});
  pollfd entry{child.pidfd.fd(), POLLIN, 0};
  ASSERT_TRUE(child.pidfd.valid());
  ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(signals, 0);
  ::sigaction(SIGCHLD, &before, nullptr);
}

TEST(StartHidden, StartsWithDefaultSignals) {
  ::signal(SIGUSR1, SIG_IGN);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  EXPECT_EQ(answer_of("grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '\\t\\n' >&3"),
            "SigBlk:0000000000000000SigIgn:0000000000000000");
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGUSR1, SIG_DFL);
}

TEST(StartHidden, NamesTheProgramThatCanNotBeStarted) {
  try {
    start_hidden("/nonexistent/jumper", {"jumper"}, {});
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cannot start '/nonexistent/jumper': No such file or directory");
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Pidfd, TellsAndCausesTheEndOfAProcess) {
  const HiddenChild child = start_hidden("/bin/sleep", {"sleep", "1000"}, {});
  ASSERT_TRUE(child.pidfd.valid());
  EXPECT_FALSE(has_ended(child.pidfd.fd()));
  EXPECT_TRUE(kill_by_pidfd(child.pidfd.fd()));
  pollfd entry{child.pidfd.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 10'000), 1);
  EXPECT_TRUE(has_ended(child.pidfd.fd()));
}

TEST(ProcessCpuTime, GrowsWithWork) {
  const std::int64_t before = process_cpu_time_ns(::getpid());
  volatile double sum = 0;
  while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < before + 5'000'000) sum = sum + 1;
  EXPECT_GE(process_cpu_time_ns(::getpid()), before + 5'000'000);
}

TEST(ProcessCpuTime, IsUnknownForAProcessThatIsNotThere) {
  EXPECT_EQ(process_cpu_time_ns(1 << 22), -1);
  EXPECT_EQ(errno, ESRCH);
}

}  // namespace
}  // namespace base
