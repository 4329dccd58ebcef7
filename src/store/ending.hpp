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

// Where the question is asked.
struct ThisMachine {
  std::string host;
  std::string boot_id;
};
ThisMachine this_machine();  // reads two files of /proc

// Without an end record it reads /proc and the rows of the last three seconds. These say that
// memory was short when a kill was counted in them, or nine tenths of what might be used were in
// use. Then a machine of the recording's name that has been booted since was probably what ended
// it, unless a limit was near: such a kill comes before anybody boots. Never throws for what the
// recording lacks.
Ending ending_of(const Recording& recording, const ThisMachine& here = this_machine());

}  // namespace store
