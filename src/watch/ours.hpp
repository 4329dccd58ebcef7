#pragma once
// User code may close all descriptors of the process and get the same numbers for others.

#include <optional>

#include "base/file.hpp"

namespace watch {

// False when the user's code has closed the descriptor. An invalid File is nobody's: true.
inline bool is_ours(const base::File& file,
                    const std::optional<base::FileIdentity>& identity) noexcept {
  return !file.valid() || base::identity_of(file.fd()) == identity;
}

}  // namespace watch
