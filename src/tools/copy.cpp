#include "tools/copy.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/failpoint.hpp"
#include "base/file.hpp"

namespace tools {
namespace {

constexpr std::size_t kBlockBytes = 1U << 20;  // between two looks at `stop`

}  // namespace

bool copy_bytes(int from_fd, std::size_t from, std::size_t bytes, int to_fd, std::size_t to,
                const Errand::Stop& stop) {
  bool by_kernel = true;
  std::string buffer;
  for (std::size_t done = 0; done < bytes;) {
    if (stop) errno = ECANCELED;
    if (stop || base::fails_at("copy")) return false;
    const std::size_t part = std::min(bytes - done, kBlockBytes);
    auto source = static_cast<off64_t>(from + done);
    auto target = static_cast<off64_t>(to + done);
    if (by_kernel) {
      const ssize_t count = ::copy_file_range(from_fd, &source, to_fd, &target, part, 0);
      by_kernel = count > 0;  // EXDEV, EOPNOTSUPP, EINVAL …: what is really wrong shows below
      if (by_kernel) done += static_cast<std::size_t>(count);
      continue;
    }
    buffer.resize(part);
    const auto count = base::read_at(from_fd, buffer, source);
    if (!count) return false;
    if (*count == 0) {
      errno = EIO;  // shorter than it was
      return false;
    }
    if (!base::write_at(to_fd, std::string_view(buffer).substr(0, *count), target)) return false;
    done += *count;
  }
  return true;
}

}  // namespace tools
