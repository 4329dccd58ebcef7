#include "base/own_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace base {

bool copy_own_memory(std::uintptr_t address, void* out, std::size_t size) noexcept {
  const iovec to{out, size};
  // Never followed by us, so it may be any number. NOLINTNEXTLINE(performance-no-int-to-ptr)
  const iovec from{reinterpret_cast<void*>(address), size};
  const ssize_t copied = ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0);
  if (copied < 0) return false;
  errno = EFAULT;
  return static_cast<std::size_t>(copied) == size;
}

}  // namespace base
