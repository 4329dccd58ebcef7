#pragma once
// Recordings of earlier kernels in the folder where recordings lie.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace store {

// The paths of the recordings in `directory` whose first machine record has this label and that
// were last written to at `not_before_wall_ns` or later, newest first; `own_path` isn't among them.
// Only regular files of this user count; symbolic links are not followed. Empty when the folder
// can't be read. Costs a stat for each file and up to 16 KiB of each of the newest 1000.
std::vector<std::string> earlier_recordings(const std::string& directory, std::string_view label,
                                            std::string_view own_path,
                                            std::int64_t not_before_wall_ns);

// True when the last bytes of the recording say that its kernel was closed, or that its user was
// told how it ended: then nobody has to open it, however long it is. Reads 4 KiB at its end. False
// for one that says something else or can't be read.
bool ended_quietly(const std::string& path);

// Appends that the user was told how the recording ended. False when that isn't possible (another
// user's file, read-only): then nothing has changed.
bool mark_told(const std::string& path);

}  // namespace store
