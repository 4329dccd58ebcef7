#pragma once
// A part of a file, copied to another one: by the kernel where it can, else through a buffer.

#include <cstddef>

#include "tools/errand.hpp"

namespace tools {

// False with errno set (ECANCELED when `stop` became true); some of it may then be there.
bool copy_bytes(int from_fd, std::size_t from, std::size_t bytes, int to_fd, std::size_t to,
                const Errand::Stop& stop);

}  // namespace tools
