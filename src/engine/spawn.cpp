#include "engine/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "base/failpoint.hpp"
#include "base/file.hpp"

namespace engine {
namespace {

constexpr std::string_view kVerb = "cannot start";
constexpr int kFirst = 1;
constexpr int kLast = 4;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const auto& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

class Actions {
 public:
  explicit Actions(const std::string& program) : program_(program) {
    check(::posix_spawn_file_actions_init(&actions_));
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() { ::posix_spawn_file_actions_destroy(&actions_); }

  void add(const Inherited& inherited) {
    check(::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0));
    const std::array sources{inherited.output, inherited.errors, inherited.channel,
                             inherited.parent};
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const int target = kFirst + static_cast<int>(i);
      if (sources[i] < 0) {
        check(::posix_spawn_file_actions_addclose(&actions_, target));
        continue;
      }
      // Out of the way first: a source may lie where another shall go.
      high_[i] = base::File(::fcntl(sources[i], F_DUPFD_CLOEXEC, kLast + 1));
      if (!high_[i].valid()) throw base::Error(kVerb, program_, errno);
      check(::posix_spawn_file_actions_adddup2(&actions_, high_[i].fd(), target));
    }
    close_above();
  }

  void change_directory(const std::string& directory) {
    struct stat status{};
    // Else the missing directory would look like a missing program.
    const bool there = ::stat(directory.c_str(), &status) == 0;
    if (!there || !S_ISDIR(status.st_mode)) {
      const std::string reason = base::errno_text(there ? ENOTDIR : errno);
      throw base::Error(kVerb, program_, fmt::format("its directory '{}': {}", directory, reason));
    }
    check(::posix_spawn_file_actions_addchdir_np(&actions_, directory.c_str()));
  }

  [[nodiscard]] const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

 private:
  void check(int error) const {
    if (error != 0) throw base::Error(kVerb, program_, error);
  }

  void close_above() {
#if __GLIBC_PREREQ(2, 34)
    check(::posix_spawn_file_actions_addclosefrom_np(&actions_, kLast + 1));
#else
    // What is open now. Our own descriptors are close-on-exec, those of the user's threads may not
    // be: one opened between here and the start gets through.
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const std::string name = entry.path().filename();
      int fd = -1;
      std::from_chars(name.data(), name.data() + name.size(), fd);
      if (fd > kLast) check(::posix_spawn_file_actions_addclose(&actions_, fd));
    }
#endif
  }

  const std::string& program_;
  posix_spawn_file_actions_t actions_{};
  std::array<base::File, kLast> high_;
};

class Attributes {
 public:
  Attributes() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    constexpr short kFlags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    ::posix_spawnattr_setflags(&attributes_, kFlags);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }

  [[nodiscard]] const posix_spawnattr_t* get() const noexcept { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::string_view remedy_for(int error) noexcept {
  if (error == ENOENT) return "is it installed, and on PATH?";
  if (error == EACCES) return "may it be executed?";
  return {};
}

}  // namespace

pid_t spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
            const std::string& directory, const Inherited& inherited) {
  if (command.empty()) throw base::Error(kVerb, "the engine", "the command is empty");
  const std::string& program = command.front();
  if (base::fails_at("spawn_engine")) throw base::Error(kVerb, program, errno);
  Actions actions(program);
  actions.add(inherited);
  if (!directory.empty()) actions.change_directory(directory);
  const Attributes attributes;
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, program.c_str(), actions.get(), attributes.get(),
                                   pointers(command).data(), pointers(environment).data());
  if (error != 0) throw base::Error(kVerb, program, error, remedy_for(error));
  return pid;
}

}  // namespace engine
