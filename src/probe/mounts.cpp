#include "probe/mounts.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr std::size_t kMostMounts = 1U << 16;
constexpr int kMostLinks = 40;  // as the kernel's own limit

// Those that need nobody else to answer. Others are nfs, lustre, gpfs, beegfs, ceph, cifs, 9p,
// afs, autofs, fuse.sshfs and so on.
constexpr std::array<std::string_view, 20> kLocalTypes{
    "aufs",     "bcachefs", "btrfs",    "devtmpfs", "erofs", "exfat",   "ext2",
    "ext3",     "ext4",     "f2fs",     "jfs",      "ntfs3", "overlay", "ramfs",
    "reiserfs", "rootfs",   "squashfs", "tmpfs",    "xfs",   "zfs"};

bool is_local(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* mount = mount_of(mounts, path);
  return mount != nullptr && std::ranges::find(kLocalTypes, mount->type) != kLocalTypes.end();
}

std::string without_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' &&
                        is_octal(text[i + 1]) && is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!escape) {
      plain += text[i];
      continue;
    }
    const int byte = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
    plain += static_cast<char>(byte);
    i += 3;
  }
  return plain;
}

}  // namespace

std::optional<Mount> parse_mount(std::string_view line) {
  Scanner words(line);
  words.skip_words(2);
  Mount mount;
  mount.device = words.word();
  words.skip_words(1);
  mount.point = without_escapes(words.word());
  if (mount.device.find(':') == std::string::npos || !mount.point.starts_with('/')) {
    return std::nullopt;
  }
  std::string_view word = words.word();  // options
  while (!word.empty() && word != "-") word = words.word();
  mount.type = words.word();
  if (mount.type.empty()) return std::nullopt;
  return mount;
}

std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  for (Scanner lines(text); !lines.done() && mounts.size() < kMostMounts;) {
    if (auto mount = parse_mount(lines.line())) mounts.push_back(std::move(*mount));
  }
  return mounts;
}

const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path) noexcept {
  const Mount* best = nullptr;
  for (const auto& mount : mounts) {
    const std::string_view point = mount.point == "/" ? std::string_view() : mount.point;
    if (!path.starts_with(point) || (path.size() > point.size() && path[point.size()] != '/')) {
      continue;
    }
    if (best == nullptr || mount.point.size() >= best->point.size()) best = &mount;
  }
  return best;
}

std::string follow_local_links(const std::string& root, std::string_view path,
                               const std::vector<Mount>& mounts) {
  namespace fs = std::filesystem;
  fs::path rest = fs::path(path).lexically_normal().relative_path();
  fs::path done = "/";
  for (int links = 0; !rest.empty();) {
    const fs::path part = *rest.begin();
    fs::path tail;
    for (auto at = std::next(rest.begin()); at != rest.end(); ++at) tail /= *at;
    rest = std::move(tail);
    if (part.empty() || part == ".") continue;
    if (!is_local(mounts, done.string())) {
      done /= part;
      return (rest.empty() ? done : done / rest).lexically_normal().string();
    }
    if (part == "..") {
      done = done.parent_path();
      continue;
    }
    const fs::path next = done / part;
    std::error_code error;
    // A mount point isn't a link, and asking it might not be answered.
    const bool mounted = std::ranges::find(mounts, next.string(), &Mount::point) != mounts.end();
    const fs::path target = mounted ? fs::path() : fs::read_symlink(root + next.string(), error);
    if (target.empty() || ++links > kMostLinks) {
      done = next;
      continue;
    }
    if (target.is_absolute()) done = "/";
    rest = target.relative_path() / rest;
  }
  return done.string();
}

}  // namespace probe
