#pragma once
// This process's own memory, read where it may not be there any more.

#include <cstddef>
#include <cstdint>

namespace base {

// Copies `size` bytes from `address`. False with errno set, `out` then undefined: EFAULT where any
// of them isn't mapped or readable (where a plain read would be a SIGSEGV), EPERM or ENOSYS where a
// sandbox refuses the call. Bytes that another thread writes meanwhile come torn. Some 0.3 us.
// Source: process_vm_readv(2); a process may always read itself.
bool copy_own_memory(std::uintptr_t address, void* out, std::size_t size) noexcept;

}  // namespace base
