#include "tools/whereabouts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <string_view>

#include "base/file.hpp"

namespace tools {
namespace {

constexpr std::string_view kDeleted = " (deleted)";  // proc_pid_fd(5)

bool leads_to(const std::string& path, const base::FileIdentity& identity) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 &&
         base::FileIdentity{status.st_dev, status.st_ino} == identity;
}

// What NFS and FUSE make of a file that is deleted while it is open.
bool is_silly(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return name.starts_with(".nfs") || name.starts_with(".fuse_hidden");
}

std::string link_of(int fd) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size =
      ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

std::string path_of(int fd) {
  std::string path = link_of(fd);
  if (!path.starts_with('/') || path.starts_with("/memfd:")) return {};
  const auto identity = base::identity_of(fd);
  if (path.ends_with(kDeleted) && identity && !leads_to(path, *identity)) {
    path.resize(path.size() - kDeleted.size());
  }
  return path;
}

Whereabouts look_for(int fd, const std::string& path) {
  using What = Whereabouts::What;
  struct stat status{};
  if (::fstat(fd, &status) != 0) return {What::kUnknown, path};
  const base::FileIdentity identity{status.st_dev, status.st_ino};
  if (status.st_nlink == 0) return {What::kGone, path};
  if (leads_to(path, identity)) return {What::kThere, path};
  const std::string link = link_of(fd);
  if (is_silly(link)) return {What::kGone, path};
  if (link != path && leads_to(link, identity)) return {What::kRenamed, link};
  if (link.ends_with(kDeleted)) return {What::kGone, path};  // another name of it is left
  return {What::kUnknown, path};
}

}  // namespace tools
