#include "probe/file_systems.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <system_error>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "probe/mounts.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

constexpr std::int64_t kPeriodNs = 10'000'000'000;
constexpr std::int64_t kPatienceNs = 2'000'000'000;
constexpr std::size_t kMostTextBytes = 4U << 20;

std::string folder_of(const std::string& root, pid_t pid) {
  return root + "/proc/" + (pid == 0 ? std::string("self") : std::to_string(pid));
}

std::string link_of(const std::string& path) {
  std::error_code error;
  return std::filesystem::read_symlink(path, error).string();
}

// What the process was given when it began; what this one has when that can't be read.
std::string variable(const std::optional<std::string>& environment, const std::string& name) {
  if (!environment) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::string() : value;
  }
  const std::string label = name + "=";
  for (std::size_t at = 0; at < environment->size();) {
    const std::size_t end = std::min(environment->find('\0', at), environment->size());
    if (environment->compare(at, label.size(), label) == 0) {
      return environment->substr(at + label.size(), end - at - label.size());
    }
    at = end + 1;
  }
  return {};
}

State state_of(int error) noexcept {
  switch (error) {
    case EACCES:
    case EPERM:
      return State::kNotPermitted;
    case ENOENT:
    case ENOTDIR:
      return State::kVanished;
    case ENOSYS:
      return State::kNotSupported;
    default:
      return State::kNotYet;
  }
}

std::int64_t product(std::uint64_t count, std::uint64_t bytes) noexcept {
  if (bytes != 0 && count > static_cast<std::uint64_t>(kMostNumber) / bytes) return kMostNumber;
  return static_cast<std::int64_t>(count * bytes);
}

}  // namespace

std::vector<Place> usual_places(const std::string& root, pid_t root_pid) {
  const std::string process = folder_of(root, root_pid);
  const auto environment = base::read_small_file(process + "/environ", kMostTextBytes);
  std::string temporary = variable(environment, "TMPDIR");
  if (temporary.empty()) temporary = "/tmp";
  std::vector<Place> places{{link_of(process + "/cwd"), "working directory"},
                            {variable(environment, "HOME"), "HOME"},
                            {temporary, "temporary directory"}};
  std::erase_if(places, [](const Place& place) { return !place.path.starts_with('/'); });
  return places;
}

Fill measure_fill(const std::string& path) noexcept {
  struct statvfs status{};
  if (::statvfs(path.c_str(), &status) != 0) return {0, 0, errno};
  if (status.f_blocks == 0) return {0, 0, ENOSYS};
  // What is kept for root can't be written to by users, and isn't used either: as df has it.
  const std::uint64_t used = status.f_blocks - std::min(status.f_blocks, status.f_bfree);
  const std::int64_t used_bytes = product(used, status.f_frsize);
  return {used_bytes, std::min(used_bytes + product(status.f_bavail, status.f_frsize), kMostNumber),
          0};
}

FileSystems::FileSystems(const std::string& root, pid_t root_pid, const std::vector<Place>& places,
                         MissingList& missing, const Measure& measure)
    : missing_(missing) {
  const auto text = base::read_small_file(folder_of(root, root_pid) + "/mountinfo", kMostTextBytes);
  const std::string of_process = link_of(folder_of(root, root_pid) + "/ns/mnt");
  const std::string of_this = link_of(folder_of(root, 0) + "/ns/mnt");
  if (!text || of_process.empty() != of_this.empty()) {
    missing.say("node.file_system0_used_bytes", State::kNotPermitted,
                "the system doesn't tell which file systems the process sees");
    return;
  }
  if (of_process != of_this) {
    missing.say("node.file_system0_used_bytes", State::kNotSupported,
                "the process sees other file systems (a mount namespace of its own)");
    return;
  }
  const std::vector<Mount> mounts = parse_mounts(*text);
  std::vector<std::string> known;  // devices, as in mountinfo
  asked_.reserve(kMost);
  for (const Place& place : places) {
    const std::string path = follow_local_links(root, place.path, mounts);
    const Mount* mount = mount_of(mounts, path);
    if (mount == nullptr) continue;
    const auto at = std::ranges::find(known, mount->device) - known.begin();
    if (at < std::ssize(known)) {
      devices_[static_cast<std::size_t>(at)].text += ", " + place.word;
      continue;
    }
    if (known.size() == kMost) continue;
    known.push_back(mount->device);
    record::Device device;
    device.time_ns = base::monotonic_ns();
    device.index = at;
    device.name = "file_system" + std::to_string(at);
    device.kind = "file system";
    device.model = mount->type;
    device.id = mount->point;
    device.memory_bytes = unknown(State::kNotSupported);
    device.text = place.word;
    columns_.push_back({"node." + device.name + "_used_bytes", record::Kind::kGauge});
    columns_.push_back({"node." + device.name + "_capacity_bytes", record::Kind::kGauge});
    devices_.push_back(std::move(device));
    auto& asked = asked_.emplace_back();
    asked.shared = std::make_shared<Shared>();
    asked.shared->path = path;
    asked.shared->measure = measure;
  }
  const base::SignalsBlocked blocked;
  for (auto& asked : asked_) {
    try {
      asked.thread = std::thread([shared = asked.shared] { run(*shared); });
    } catch (const std::exception&) {  // no more threads for this user, or no memory
      set_unknown(asked, State::kNotSupported, "can't be asked: no thread could be started");
    }
  }
}

FileSystems::~FileSystems() {
  for (auto& asked : asked_) {
    if (!asked.thread.joinable()) continue;
    const int turn = asked.shared->turn.exchange(kStop, std::memory_order_acq_rel);
    asked.shared->turn.notify_one();
    if (turn == kMeasure) {
      asked.thread.detach();
    } else {
      asked.thread.join();
    }
  }
}

void FileSystems::run(Shared& shared) noexcept {
  for (;;) {
    const int turn = shared.turn.load(std::memory_order_acquire);
    if (turn == kStop) return;
    if (turn != kMeasure) {
      shared.turn.wait(turn, std::memory_order_acquire);
      continue;
    }
    shared.fill = shared.measure(shared.path);
    int expected = kMeasure;  // or kStop by now
    shared.turn.compare_exchange_strong(expected, kFinished, std::memory_order_acq_rel);
  }
}

void FileSystems::read(std::span<record::Value> values, const Turn& turn) noexcept {
  if (values.size() != columns_.size()) return;
  std::size_t at = 0;
  for (auto& asked : asked_) {
    if (asked.thread.joinable()) ask(asked, turn.now_ns);
    const bool measured = asked.state == State::kMeasured;
    values[at++] = measured ? asked.fill.used_bytes : unknown(asked.state);
    values[at++] = measured ? asked.fill.capacity_bytes : unknown(asked.state);
  }
}

void FileSystems::ask(Asked& asked, std::int64_t now_ns) noexcept {
  Shared& shared = *asked.shared;
  if (asked.asked_ns == 0) asked.asked_ns = now_ns;  // it was asked when this was made
  int turn = shared.turn.load(std::memory_order_acquire);
  if (turn == kFinished) {
    asked.fill = shared.fill;
    const int error = asked.fill.error;
    if (error == 0) {
      asked.state = State::kMeasured;
    } else if (error == ENOSYS) {
      set_unknown(asked, State::kNotSupported, "has no size");
    } else {
      set_unknown(asked, state_of(error), "can't be asked: ", error);
    }
    turn = kIdle;
    shared.turn.store(kIdle, std::memory_order_release);
  }
  if (turn == kIdle && now_ns - asked.asked_ns >= kPeriodNs) {
    asked.asked_ns = now_ns;
    shared.turn.store(kMeasure, std::memory_order_release);
    shared.turn.notify_one();
  } else if (turn == kMeasure && now_ns - asked.asked_ns >= kPatienceNs) {
    set_unknown(asked, State::kNotYet, "doesn't answer");
  }
}

void FileSystems::set_unknown(Asked& asked, State state, std::string_view does,
                              int error) noexcept {
  asked.state = state;
  if (asked.said == state) return;
  asked.said = state;
  try {
    const auto at = static_cast<std::size_t>(&asked - asked_.data());
    std::string reason = "the file system of " + asked.shared->path + " " + std::string(does);
    if (error != 0) reason += base::errno_text(error);
    missing_.say(columns_[2 * at].name, state, reason);
    missing_.say(columns_[2 * at + 1].name, state, reason);
  } catch (const std::exception&) {
    return;  // no memory for it
  }
}

}  // namespace probe
