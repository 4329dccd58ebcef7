#include "engine/rendezvous.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/file.hpp"
#include "engine/deadline.hpp"
#include "engine/open_files.hpp"

namespace engine {
namespace {

using Status = Meeting::Status;

std::int64_t soon() { return in_seconds(20); }

// A variable with another value for a while.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    if (before != nullptr) before_ = before;
    was_set_ = before != nullptr;
    ::setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (was_set_) {
      ::setenv(name_, before_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::string before_;
  bool was_set_ = false;
};

struct Folder {
  Folder() { path = ::mkdtemp(name.data()); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  std::string name = testing::TempDir() + "rendezvous-XXXXXX";
  std::string path;
};

TEST(Rendezvous, BringsTheTwoTogetherAndRemovesItself) {
  const Folder folder;
  const Variable runtime("XDG_RUNTIME_DIR", folder.path);
  Rendezvous rendezvous;
  EXPECT_TRUE(rendezvous.path().starts_with(folder.path + "/jumper-"));
  EXPECT_EQ(rendezvous.token().size(), 32U);
  Meeting engine = connect(rendezvous.path(), rendezvous.token());
  EXPECT_EQ(engine.peer, ::getpid());
  Meeting kernel = rendezvous.accept(soon());
  ASSERT_EQ(kernel.status, Status::kMet);
  EXPECT_EQ(kernel.peer, ::getpid());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
  EXPECT_EQ(engine.channel.send(1, "here", soon()), Sent::kSent);
  EXPECT_EQ(kernel.channel.receive(soon()).message.payload, "here");
  EXPECT_EQ(kernel.channel.send(2, "there", soon()), Sent::kSent);
  EXPECT_EQ(engine.channel.receive(soon()).message.payload, "there");
}

TEST(Rendezvous, WaitsForAnEngineThatComesLater) {
  Rendezvous rendezvous;
  std::thread engine([&] { connect(rendezvous.path(), rendezvous.token()); });
  EXPECT_EQ(rendezvous.accept(soon()).status, Status::kMet);
  engine.join();
}

TEST(Rendezvous, HasADirectoryThatIsPrivate) {
  const Rendezvous rendezvous;
  struct stat status{};
  const auto directory = std::filesystem::path(rendezvous.path()).parent_path();
  ASSERT_EQ(::lstat(directory.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
  EXPECT_EQ(status.st_uid, ::geteuid());
}

TEST(Rendezvous, PassesOverARuntimeDirectoryThatOthersMayWriteTo) {
  const Folder open;
  const Folder temporary;
  ::chmod(open.path.c_str(), 0777);
  const Variable runtime("XDG_RUNTIME_DIR", open.path);
  const Variable fallback("TMPDIR", temporary.path);
  const Rendezvous rendezvous;
  EXPECT_TRUE(rendezvous.path().starts_with(temporary.path));
}

TEST(Rendezvous, PassesOverALinkAndAPathThatIsTooLong) {
  const Folder folder;
  const std::string link = folder.path + "/link";
  std::filesystem::create_directory_symlink(folder.path, link);
  const std::string deep = folder.path + "/" + std::string(100, 'x');
  std::filesystem::create_directory(deep);
  const Variable runtime("XDG_RUNTIME_DIR", link);
  const Variable fallback("TMPDIR", deep);
  const Rendezvous rendezvous;
  EXPECT_TRUE(rendezvous.path().starts_with("/tmp/jumper-"));
  EXPECT_TRUE(std::filesystem::is_empty(deep));
}

TEST(Rendezvous, TurnsAwayWhoDoesNotKnowTheToken) {
  Rendezvous rendezvous;
  std::string wrong = rendezvous.token();
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  Meeting one = connect(rendezvous.path(), wrong);
  Meeting two = connect(rendezvous.path(), rendezvous.token() + "0");
  Meeting three = connect(rendezvous.path(), "x");
  connect(rendezvous.path(), "gone at once");
  EXPECT_EQ(rendezvous.accept(in_seconds(0.05)).status, Status::kTimeout);
  EXPECT_EQ(rendezvous.strangers(), 4U);
  EXPECT_EQ(one.channel.receive(soon()).status, Reception::Status::kClosed);
  Meeting right = connect(rendezvous.path(), rendezvous.token());
  EXPECT_EQ(rendezvous.accept(soon()).status, Status::kMet);
}

TEST(Rendezvous, LetsNoSilentCallerKeepTheEngineWaiting) {
  Rendezvous rendezvous;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  rendezvous.path().copy(address.sun_path, sizeof address.sun_path - 1);
  std::array<base::File, 10> silent;
  for (auto& caller : silent) {
    caller = base::File(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto* place = reinterpret_cast<const sockaddr*>(&address);
    ASSERT_EQ(::connect(caller.fd(), place, sizeof address), 0);
  }
  const Meeting engine = connect(rendezvous.path(), rendezvous.token());
  EXPECT_EQ(rendezvous.accept(soon()).status, Status::kMet);
}

TEST(Rendezvous, IsWokenByTheEndOfTheLauncher) {
  Rendezvous rendezvous;
  const base::File event(::eventfd(1, EFD_CLOEXEC));
  EXPECT_EQ(rendezvous.accept(kNoDeadline, std::array{event.fd()}).status, Status::kWoken);
}

TEST(Rendezvous, LeavesNothingBehindWhenNobodyComes) {
  const Folder folder;
  const Variable runtime("XDG_RUNTIME_DIR", folder.path);
  const auto before = open_files();
  {
    Rendezvous rendezvous;
    EXPECT_EQ(rendezvous.accept(0).status, Status::kTimeout);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
  EXPECT_EQ(open_files(), before);
}

TEST(Rendezvous, OutlivesAForkedCopyOfThisProcess) {
  auto rendezvous = std::make_unique<Rendezvous>();
  const std::string path = rendezvous->path();
  const pid_t copy = ::fork();
  if (copy == 0) {
    rendezvous.reset();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(copy, nullptr, 0), copy);
  EXPECT_TRUE(std::filesystem::exists(path));
  rendezvous.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Rendezvous, GivesEachItsOwnToken) { EXPECT_NE(Rendezvous().token(), Rendezvous().token()); }

TEST(Connect, NamesThePathThatNobodyListensAt) {
  try {
    connect("/no/such/engine", "x");
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(),
                 "cannot reach the kernel at '/no/such/engine': No such file or directory; engine "
                 "and kernel have to be on one machine");
  }
  EXPECT_THROW(connect("/" + std::string(200, 'x'), "x"), base::Error);
}

}  // namespace
}  // namespace engine
