#include "probe/cgroup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <system_error>

namespace probe {
namespace {

constexpr std::size_t kMostTextBytes = 1 << 14;    // 13 lines, each of a path
constexpr std::size_t kMostMountsBytes = 8 << 20;  // 40,000 mounts

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// One that may not be looked into is one.
bool is_directory(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) || error == std::errc::permission_denied;
}

std::vector<CgroupMount> read_mounts(const std::string& path) {
  std::vector<CgroupMount> mounts;
  for (std::size_t limit = 1 << 14; limit <= kMostMountsBytes; limit *= 8) {
    const auto text = base::read_small_file(path, limit);
    if (!text) break;
    mounts = parse_mountinfo(*text);
    if (text->size() < limit) break;
  }
  return mounts;
}

// "/.." and "/../..": seen from a cgroup namespace below.
bool begins_above(std::string_view path) noexcept {
  return path == "/.." || path.starts_with("/../");
}

bool climbs(std::string_view path) noexcept {
  return path.find("/../") != std::string_view::npos || path.ends_with("/..");
}

// What is left of `path` below `outer`; nullopt when it isn't below.
std::optional<std::string_view> below(std::string_view path, std::string_view outer) noexcept {
  if (outer == "/") {
    if (climbs(path)) return std::nullopt;
    return path == "/" ? std::string_view() : path;
  }
  if (!path.starts_with(outer)) return std::nullopt;
  path.remove_prefix(outer.size());
  if (!path.empty() && path.front() != '/') return std::nullopt;
  if (climbs(path)) return std::nullopt;
  return path;
}

// Files that only the root of a version 1 hierarchy has, or that only the root of version 2 lacks
// (kernel/cgroup: CFTYPE_ONLY_ON_ROOT, CFTYPE_NOT_ON_ROOT). A container sees its own group where
// the root would be.
bool is_true_root(const std::string& directory, const CgroupMount& mount) {
  if (mount.outer != "/") return false;
  const auto has = [&](const char* name) { return exists(directory + "/" + name); };
  if (!mount.unified) return has("cgroup.sane_behavior") || has("release_agent");
  const auto names = {"cgroup.events", "cgroup.type", "memory.current", "cpu.max", "pids.current"};
  return std::ranges::none_of(names, has);
}

}  // namespace

std::string Group::path() const {
  if (outer == "/") return below.empty() ? outer : below;
  return outer + below;
}

std::string_view read_control(const base::File& file, std::span<char> buffer) noexcept {
  ssize_t count = -1;
  do {
    count = ::pread(file.fd(), buffer.data(), buffer.size(), 0);
  } while (count < 0 && errno == EINTR);
  return count > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(count))
                   : std::string_view();
}

void Group::go_up() { below.resize(std::min(below.rfind('/'), below.size())); }

Cgroups::Cgroups(const std::string& root, pid_t pid) : root_(root), pid_(pid) {
  const std::string process = root + "/proc/" + std::to_string(pid);
  file_ = base::File::try_open((process + "/cgroup").c_str(), O_RDONLY);
  if (!file_.valid()) return;
  std::array<char, kMostTextBytes> buffer;
  text_ = base::read_text(file_.fd(), buffer);
  mounts_ = read_mounts(root + "/proc/self/mountinfo");
}

bool Cgroups::look(std::span<char> buffer) {
  const auto text = base::read_text(file_.fd(), buffer);
  if (text.empty() || text.size() == buffer.size() || text == text_) return false;
  if (text.find(" (deleted)\n") != std::string_view::npos) return false;  // the last one leaves
  const std::string changed(text);
  if (is_ending()) return false;
  text_ = changed;
  ++moves_;
  return true;
}

bool Cgroups::is_ending() const {
  const auto status =
      base::read_small_file(root_ + "/proc/" + std::to_string(pid_) + "/status", 8192);
  return !status || status->find("\nVm") == std::string::npos;  // memory goes before the group
}

template <typename Fits>
Group Cgroups::place(std::string_view path, Fits fits) const {
  Group best;
  if (path.empty()) return best;
  const CgroupMount* fallback = nullptr;
  for (const auto& mount : mounts_) {
    if (!fits(mount)) continue;
    const std::string point = root_ + mount.point;
    if (!is_directory(point)) continue;
    if (fallback == nullptr || mount.outer.size() < fallback->outer.size()) fallback = &mount;
    const auto rest = below(path, mount.outer);
    if (!rest || !is_directory(point + std::string(*rest))) continue;
    if (best.there() && mount.outer.size() >= best.outer.size()) continue;  // sees no more
    best = {point,         mount.outer, std::string(*rest),
            mount.unified, true,        is_true_root(point, mount)};
  }
  if (best.there() || fallback == nullptr) return best;
  const bool above = begins_above(fallback->outer);
  if (begins_above(path) && !above) return best;  // it isn't in this container
  best = {
      root_ + fallback->point, fallback->outer, "",
      fallback->unified,       !above,          is_true_root(root_ + fallback->point, *fallback)};
  return best;
}

Group Cgroups::find(Controller controller) const {
  const std::string_view name = name_v1(controller);
  const std::string_view path = parse_cgroup_v1(text_, name);
  if (path.empty()) return find_unified();
  return place(path, [&](const CgroupMount& mount) {
    return !mount.unified && is_listed(mount.options, name);
  });
}

Group Cgroups::find_unified() const {
  return place(parse_cgroup_v2(text_), [](const CgroupMount& mount) { return mount.unified; });
}

}  // namespace probe
