#include "probe/process_files.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

namespace probe {
namespace {

constexpr int kSpareDescriptors = 64;

Access access_of(int error) noexcept {
  switch (error) {
    case ENOENT:
    case ESRCH:
      return Access::kGone;
    case EACCES:
    case EPERM:
      return Access::kRefused;
    default:
      return Access::kFailed;
  }
}

Text read_open(int fd, std::span<char> buffer) noexcept {
  errno = 0;
  const std::string_view text = base::read_text(fd, buffer);
  if (text.empty() && errno != 0) return {access_of(errno), {}};
  return {Access::kRead, text};
}

bool has_our_numbers(std::string_view root) {
  if (root != "/") return false;
  std::array<char, 32> target{};
  const ssize_t size = ::readlink("/proc/self", target.data(), target.size());
  if (size <= 0) return false;
  return std::string_view(target.data(), static_cast<std::size_t>(size)) ==
         std::to_string(::getpid());
}

int keep_below() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  constexpr rlim_t kMost = 1 << 20;
  return static_cast<int>(std::min(limit.rlim_cur, kMost)) - kSpareDescriptors;
}

}  // namespace

ProcDirectory::ProcDirectory(std::string_view root, bool keep)
    : directory_(
          base::File::try_open((std::string(root) + "/proc").c_str(), O_RDONLY | O_DIRECTORY)),
      has_our_numbers_(::probe::has_our_numbers(root)),
      keep_below_(keep ? keep_below() : 0) {}

ProcPath::ProcPath(pid_t pid, std::string_view name) noexcept {
  add(pid);
  add("/");
  add(name);
}

ProcPath::ProcPath(pid_t pid, pid_t thread, std::string_view name) noexcept {
  add(pid);
  add("/task/");
  add(thread);
  add("/");
  add(name);
}

void ProcPath::add(std::string_view part) noexcept {
  const std::size_t room = text_.size() - 1 - size_;  // the last byte stays 0
  size_ += part.copy(text_.data() + size_, room);
}

void ProcPath::add(pid_t number) noexcept {
  const auto [end, error] =
      std::to_chars(text_.data() + size_, text_.data() + text_.size() - 1, number);
  if (error == std::errc{}) size_ = static_cast<std::size_t>(end - text_.data());
}

Text ProcessFile::read(const ProcDirectory& proc, const char* path,
                       std::span<char> buffer) noexcept {
  if (file_.valid()) return read_open(file_.fd(), buffer);
  base::File file = base::File::try_open_at(proc.fd(), path, O_RDONLY);
  if (!file.valid()) return {access_of(errno), {}};
  const Text text = read_open(file.fd(), buffer);
  if (text.access == Access::kRead && proc.may_keep(file.fd())) file_ = std::move(file);
  return text;
}

}  // namespace probe
