#include "watch/place.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/memory.hpp"

namespace watch {
namespace {

constexpr mode_t kPrivateDirectory = 0700;
constexpr mode_t kPrivateFile = 0600;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string file_name() {
  std::uint32_t chance = 0;
  if (::getrandom(&chance, sizeof chance, GRND_NONBLOCK) < 0) {
    chance = static_cast<std::uint32_t>(base::monotonic_ns());
  }
  std::string time = base::local_time(base::clock_ns(CLOCK_REALTIME));
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  time[time.find(' ')] = 'T';
  return fmt::format("{}-{}-{:08x}.jumper", time, ::getpid(), chance);
}

// mkdir -p, every new directory private. What is there already stays as it is. False with errno
// set: to what stood in the way first.
bool make_directories(const std::string& path) {
  int first = 0;
  for (std::size_t slash = path.find('/', 1); slash != path.npos;
       slash = path.find('/', slash + 1)) {
    if (::mkdir(path.substr(0, slash).c_str(), kPrivateDirectory) != 0 && errno != EEXIST) {
      // A parent we may not create in may still hold the next one (EROFS, EACCES on /home).
      if (first == 0) first = errno;
    }
  }
  if (::mkdir(path.c_str(), kPrivateDirectory) == 0 || errno == EEXIST) return true;
  if (errno == ENOENT && first != 0) errno = first;
  return false;
}

// An invalid File when the directory can't be used; `reason` says why.
base::File create_in(const std::string& directory, const std::string& name, std::string& reason) {
  const base::File opened = open_own_directory(directory, reason);
  if (!opened.valid()) return {};
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  base::File file = base::File::try_open_at(opened.fd(), name.c_str(), kFlags, kPrivateFile);
  if (!file.valid()) reason = base::errno_text(errno);
  return file;
}

class Search {
 public:
  // True when the recording is there.
  bool try_directory(const std::string& directory) {
    std::string reason;
    if (make_directories(directory)) {
      place_.file = create_in(directory, name_, reason);
    } else {
      reason = base::errno_text(errno);
    }
    if (!place_.file.valid()) {
      place_.refusals.push_back(fmt::format("'{}': {}", directory, reason));
      return false;
    }
    place_.path = directory + "/" + name_;
    place_.sentence = "recorded in " + place_.path;
    return true;
  }

  bool try_temporary(const std::string& parent) {
    std::string directory = parent + "/jumper-XXXXXX";
    if (::mkdtemp(directory.data()) == nullptr) {
      place_.refusals.push_back(fmt::format("'{}': {}", parent, base::errno_text(errno)));
      return false;
    }
    if (try_directory(directory)) return true;
    ::rmdir(directory.c_str());
    return false;
  }

  void use_memory() {
    place_.file = base::make_memfd("jumper-recording");
    if (!place_.file.valid()) throw base::Error("cannot keep a recording in", "memory", errno);
    place_.sentence = "kept in memory only, lost when the kernel ends";
  }

  Place take() { return std::move(place_); }

 private:
  std::string name_ = file_name();
  Place place_;
};

}  // namespace

Place create_recording(const std::string& directory) {
  Search search;
  if (!directory.empty() && search.try_directory(directory)) return search.take();
  // The XDG base directory specification: a relative XDG_STATE_HOME is ignored.
  const std::string state = variable("XDG_STATE_HOME");
  const std::string home = variable("HOME");
  if (state.starts_with('/')) {
    if (search.try_directory(state + "/jumper")) return search.take();
  } else if (home.starts_with('/')) {
    if (search.try_directory(home + "/.local/state/jumper")) return search.take();
  }
  const std::string temporary = variable("TMPDIR");
  if (temporary.starts_with('/') && search.try_temporary(temporary)) return search.take();
  if (search.try_temporary("/tmp")) return search.take();
  search.use_memory();
  return search.take();
}

Place create_named_recording(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL;
  Place place;
  place.file = base::File::try_open(path.c_str(), kFlags, 0666);
  if (!place.file.valid()) {
    const int code = errno;
    throw base::Error("cannot create recording", path, code,
                      code == EEXIST ? "remove it or name another with -o" : "");
  }
  place.path = path;
  place.sentence = "recorded in " + path;
  return place;
}

base::File open_own_directory(const std::string& directory, std::string& reason) {
  base::File opened = base::File::try_open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  struct stat status{};
  if (!opened.valid() || ::fstat(opened.fd(), &status) != 0) {
    reason = errno == ELOOP || errno == ENOTDIR ? "it isn't a directory of its own (a link or file)"
                                                : base::errno_text(errno);
    return {};
  }
  if (status.st_uid != ::geteuid()) {
    reason = "it belongs to another user";
    return {};
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    reason = "others may write to it (chmod go-w would help)";
    return {};
  }
  return opened;
}

std::pair<std::string, std::string> parted_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

Place create_again(const std::string& path) {
  constexpr int kMostNames = 100;
  constexpr std::string_view kEnding = ".jumper";
  Place place;
  const auto [directory, name] = parted_path(path);
  std::string reason;
  if (!make_directories(directory)) reason = base::errno_text(errno);
  std::string stem = name;
  const bool has_ending = stem.ends_with(kEnding);
  if (has_ending) stem.resize(stem.size() - kEnding.size());
  for (int number = 1; number < kMostNames && !place.file.valid() && reason.empty(); ++number) {
    const std::string tried =
        number == 1 ? name : fmt::format("{}-{}{}", stem, number, has_ending ? kEnding : "");
    place.file = create_in(directory, tried, reason);
    if (place.file.valid()) place.path = fmt::format("{}/{}", directory, tried);
    if (reason == base::errno_text(EEXIST)) reason.clear();
  }
  if (!place.file.valid()) {
    if (reason.empty()) reason = "all its names are taken";
    place.refusals.push_back(fmt::format("'{}': {}", directory, reason));
    return place;
  }
  place.sentence = "recorded in " + place.path;
  return place;
}

}  // namespace watch
