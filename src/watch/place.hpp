#pragma once
// Where a recording lies. Everything that is created here is private to the user.

#include <string>
#include <vector>

#include "base/file.hpp"

namespace watch {

struct Place {
  base::File file;       // open for reading and writing; a memfd when `path` is empty
  std::string path;      // "" : in memory only
  std::string sentence;  // for people: "recorded in /home/…" or why it is in memory only
  std::vector<std::string> refusals;  // directories that were tried before, each with its reason
};

// Creates a new recording (O_EXCL, 0600), named by start time, process and chance, in the first of
// these that can be used:
//   `directory` (JUMPER_DIR) when it isn't empty
//   $XDG_STATE_HOME/jumper, else $HOME/.local/state/jumper (created 0700)
//   a new private directory under $TMPDIR, else /tmp
//   a memfd
// A directory is used only if it belongs to this user and nobody else may write to it; symbolic
// links as its last part are refused. Throws base::Error only when not even a memfd can be had.
Place create_recording(const std::string& directory);

// A file that the user named (`jumper record -o`): created by the umask; an existing one is
// refused. Throws base::Error.
Place create_named_recording(const std::string& path);

}  // namespace watch
