#pragma once
// How much is kept: the recordings of one directory, of which the oldest finished ones are deleted.
// Called by the sampler on a thread of its own, and to count by the kernel.
//
// Only what we have made is ever deleted: in a directory that belongs to this user alone (0700), a
// regular file of this user's with one link, a name as we give it, and a recording's first bytes.
// Everything is opened below the directory's descriptor, links are not followed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.hpp"

namespace store {

struct KeepLimits {
  std::int64_t days = 30;                      // since it was last written to
  std::int64_t bytes = std::int64_t{2} << 30;  // of all together
};

struct Kept {
  std::size_t recordings = 0;
  std::int64_t bytes = 0;
};

// "20261129T220104-4242-0a1b2c3d.jumper", with "-2" and so on before the ending: named by us.
bool is_own_name(std::string_view name) noexcept;

// The name of a file that will take a recording's place once it is complete: says who writes it.
std::string temporary_name();

// Those that lie there. Reads entries and stats only; {} where the directory isn't ours.
Kept count_kept(int directory_fd);

// Deletes the oldest finished ones that are over the limits, and half-written copies whose writer
// is dead; `own` is never touched. A recording is finished when it has an end, or when nobody of it
// is seen here (root process, sampler) and nothing was written for a day: it may be another
// machine's. Costs four reads at most for each that is over the limits. What is left.
Kept keep(int directory_fd, const KeepLimits& limits, const base::FileIdentity& own);

}  // namespace store
