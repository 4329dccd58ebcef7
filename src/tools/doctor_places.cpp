// Where recordings would lie: one is really created, as a kernel does it, and taken away again.

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "tools/doctor.hpp"
#include "view/units.hpp"
#include "watch/place.hpp"

namespace tools {
namespace {

constexpr std::uint64_t kLeastFreeBytes = 256U << 20;  // the most that one recording takes
constexpr std::size_t kTriedBytes = 64U << 10;         // a quota shows when something is written

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Not to be ended with a file left behind: no signal, and not with its parent.
void finish_in_any_case() {
  ::prctl(PR_SET_PDEATHSIG, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
}

// A folder that watch::create_recording may try, and what names it.
struct Candidate {
  const char* name;
  std::string folder;
};

std::vector<Candidate> candidates() {
  std::vector<Candidate> list;
  if (!variable("JUMPER_DIR").empty()) list.push_back({"JUMPER_DIR", variable("JUMPER_DIR")});
  if (variable("XDG_STATE_HOME").starts_with('/')) {
    list.push_back({"XDG_STATE_HOME", variable("XDG_STATE_HOME") + "/jumper"});
  } else if (variable("HOME").starts_with('/')) {
    list.push_back({"HOME", variable("HOME") + "/.local/state/jumper"});
  }
  if (variable("TMPDIR").starts_with('/')) list.push_back({"TMPDIR", variable("TMPDIR")});
  list.push_back({"/tmp", "/tmp"});
  return list;
}

// The folders of `path`, itself included, that aren't there: the innermost first.
std::vector<std::string> absent_folders(std::string path) {
  std::vector<std::string> absent;
  struct stat status{};
  while (!path.empty() && path != "/" && ::lstat(path.c_str(), &status) != 0 && errno == ENOENT) {
    absent.push_back(path);
    const std::size_t slash = path.rfind('/');
    if (slash == path.npos) break;  // JUMPER_DIR may be relative
    path.resize(slash);
    while (path.ends_with('/')) path.pop_back();
  }
  return absent;
}

class Trial {
 public:
  Trial() : candidates_(candidates()) {
    for (const Candidate& candidate : candidates_) {
      const auto absent = absent_folders(candidate.folder);
      absent_.insert(absent_.end(), absent.begin(), absent.end());
    }
    place_ = watch::create_recording(variable("JUMPER_DIR"));
    const std::string bytes(kTriedBytes, 'x');
    error_ = base::write_at(place_.file.fd(), bytes, 0) ? 0 : errno;
    struct statvfs status{};
    if (::fstatvfs(place_.file.fd(), &status) == 0) free_bytes_ = status.f_bavail * status.f_frsize;
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    if (!place_.path.empty()) {
      ::unlink(place_.path.c_str());
      if (is_temporary()) ::rmdir(folder().c_str());
    }
    for (const std::string& path : absent_) ::rmdir(path.c_str());  // others may be using it by now
  }

  [[nodiscard]] const watch::Place& place() const noexcept { return place_; }
  [[nodiscard]] std::string folder() const { return place_.path.substr(0, place_.path.rfind('/')); }
  [[nodiscard]] bool is_temporary() const {
    const auto is_here = [this](const Candidate& one) { return one.folder == folder(); };
    return std::ranges::none_of(candidates_, is_here);
  }
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] std::uint64_t free_bytes() const noexcept { return free_bytes_; }

  // Which variable names the folder that a refusal begins with: "'/x/y': Permission denied".
  [[nodiscard]] const char* name_of(std::string_view refusal) const {
    for (const Candidate& candidate : candidates_) {
      if (refusal.starts_with("'" + candidate.folder + "'")) return candidate.name;
    }
    return "recordings";
  }

 private:
  std::vector<Candidate> candidates_;
  std::vector<std::string> absent_;
  watch::Place place_;
  int error_ = 0;
  std::uint64_t free_bytes_ = 0;
};

void check_recordings(Sheet& sheet) {
  constexpr const char* kWhat = "recordings";
  constexpr const char* kRemedy = "set JUMPER_DIR to a folder of your own that can be written to";
  const Trial trial;
  for (const std::string& refusal : trial.place().refusals) {
    sheet.limited(trial.name_of(refusal), refusal, kRemedy);
  }
  if (trial.place().path.empty()) {
    return sheet.limited(kWhat, trial.place().sentence, kRemedy);
  }
  const std::string where =
      trial.is_temporary()
          ? "a new folder in " + trial.folder().substr(0, trial.folder().rfind('/'))
          : trial.folder();
  const std::string text =
      fmt::format("{}: {} free", where, view::bytes_text(static_cast<double>(trial.free_bytes())));
  if (trial.error() != 0) {
    sheet.limited(kWhat, fmt::format("{}, but: {}", text, base::errno_text(trial.error())),
                  kRemedy);
  } else if (trial.free_bytes() < kLeastFreeBytes) {
    sheet.limited(kWhat, text + "; one recording may take 256 MiB", kRemedy);
  } else if (trial.is_temporary()) {
    sheet.limited(kWhat, text + "; it is emptied by the system, as a rule", kRemedy);
  } else {
    sheet.ok(kWhat, text);
  }
}

void check_state_home(Sheet& sheet) {
  const std::string state = variable("XDG_STATE_HOME");
  if (!state.empty() && !state.starts_with('/')) {
    sheet.limited("XDG_STATE_HOME", fmt::format("'{}' is ignored: it isn't absolute", state),
                  "write it from / on, or unset it");
  }
  if (state.empty() && !variable("HOME").starts_with('/')) {
    sheet.limited("HOME", "is not set, or not absolute: recordings go to the temporary folder",
                  "set HOME or JUMPER_DIR");
  }
}

// Nothing lies there yet; sockets of engines will.
void check_runtime_folder(Sheet& sheet) {
  constexpr const char* kWhat = "XDG_RUNTIME_DIR";
  const std::string folder = variable("XDG_RUNTIME_DIR");
  if (folder.empty()) return sheet.ok(kWhat, "not set; nothing needs it yet");
  struct stat status{};
  std::string reason;
  if (!folder.starts_with('/')) {
    reason = "it isn't absolute";
  } else if (::stat(folder.c_str(), &status) != 0 || ::access(folder.c_str(), W_OK) != 0) {
    reason = base::errno_text(errno);
  } else if (!S_ISDIR(status.st_mode)) {
    reason = "it is no folder";
  } else if (status.st_uid != ::geteuid()) {
    reason = "it belongs to another user";
  } else if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    reason = "others may use it, too";
  }
  if (reason.empty()) return sheet.ok(kWhat, folder);
  sheet.limited(kWhat, fmt::format("'{}': {}; nothing needs it yet", folder, reason),
                "unset it, or name a folder that only you can use");
}

}  // namespace

void check_places(const Subject& /*subject*/, Sheet& sheet) {
  finish_in_any_case();
  try {
    check_recordings(sheet);
  } catch (const base::Error& error) {
    sheet.missing("recordings", error.what());
  }
  check_state_home(sheet);
  check_runtime_folder(sheet);
}

}  // namespace tools
