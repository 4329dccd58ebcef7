#pragma once
// How a recording ended, as one clause for the user: what its end record says, else what can be
// concluded from what is there ("probably …"). Used under cells, by `jumper report` and where a
// later kernel tells of an earlier one.

#include <cstdint>
#include <string>

#include "store/recording.hpp"

namespace store {

struct Ending {
  enum class Kind : std::uint8_t {
    kRunning,      // it may still be written
    kClosed,       // shut down, restarted, unloaded: nothing is wrong
    kExited,       // the process ended by itself, without closing
    kKilled,       // by a signal
    kOutOfMemory,  // by a limit, the machine or a daemon
    kRebooted,     // the machine was restarted meanwhile
    kUnknown,
  };
  Kind kind = Kind::kUnknown;
  bool probably = false;  // concluded by the reader: the sampler died as well
  // "killed by the memory limit (peak 511 MiB of 512 MiB)", "probably killed by the memory limit
  // (last seen 505 MiB of 512 MiB)"; "" while it runs.
  std::string text;
  std::int64_t time_ns = 0;    // of the end, else the last sign of life; 0: there is none
  const Cell* cell = nullptr;  // that ran then; not longer than the recording's next refresh
};

// Reads /proc and the boot id when there is no end record; the last rows for a conclusion.
Ending ending_of(const Recording& recording);

}  // namespace store
