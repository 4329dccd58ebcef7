#include "base/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/failpoint.hpp"

namespace base {
namespace {
constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
}

File make_memfd(const char* name) noexcept {
  if (fails_at("memfd")) return {};
  return File(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

File make_sealed_memfd(const char* name, std::string_view bytes) noexcept {
  File file = make_memfd(name);
  if (!file.valid()) return {};
  if (!write_at(file.fd(), bytes, 0)) return {};
  if (::fcntl(file.fd(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) return {};
  return file;
}

bool is_sealed(int fd) noexcept {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

}  // namespace base
