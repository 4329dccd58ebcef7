#pragma once
// A smaller copy of a recording that has become too long. Counters are stored, so what is left out
// costs resolution and no totals. The copy has every record, all rows of the newest part, and of
// the older ones every second, fourth … so that about the size that was asked for comes out; but
// always
//   edge samples and their two neighbours, the first and the last row between two records (so a
//   cell's begin and end are what they were), and both rows where a counter fell;
//   of each stretch of rows the one with most memory of each level, and the two between which the
//   tree used most CPU time.
// The settings in force in the older part say the lower rate, and why.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tools/errand.hpp"

namespace tools {

struct Thinned {
  std::size_t from = 0;        // read up to here
  std::size_t offset = 0;      // written up to here
  std::uint32_t sequence = 0;  // of the next chunk
};

// Copies the chunks before `end` of `from_fd` (all final) to the empty file `to_fd`. Reads twice;
// takes less than 1 MB of memory where no chunk is longer. nullopt with errno set when reading or
// writing failed, ECANCELED when `stop` became true.
std::optional<Thinned> thin(int from_fd, std::size_t end, int to_fd, std::size_t wished_bytes,
                            const Errand::Stop& stop);

// Goes on in the copy with the chunks from there to `end`, as they are. False: as above.
bool copy_chunks(int from_fd, std::size_t end, int to_fd, Thinned& at, const Errand::Stop& stop);

}  // namespace tools
