#pragma once
// Anonymous memory files: what crosses to another process without a name in any directory.

#include <string_view>

#include "base/file.hpp"

namespace base {

// A close-on-exec memfd named `name` (seen in /proc/PID/fd only). Invalid on failure, errno set.
File make_memfd(const char* name) noexcept;

// A memfd that holds `bytes` and can neither be written nor resized by anybody afterwards
// (F_SEAL_WRITE, GROW, SHRINK, SEAL). Invalid on failure, errno set.
File make_sealed_memfd(const char* name, std::string_view bytes) noexcept;

// True when the descriptor is a memfd sealed against writing and resizing: only then may its
// bytes be trusted to stay while they are parsed.
bool is_sealed(int fd) noexcept;

}  // namespace base
