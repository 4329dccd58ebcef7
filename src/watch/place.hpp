#pragma once
// Where a recording lies. Everything that is created here is private to the user.

#include <string>
#include <utility>
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

// Another file for a recording whose own is gone: in the same directory, which is created again
// when it is gone too, with the same name when that is free, else with -2, -3 … before its ending.
// `file` is invalid when there can't be one: `refusals` says why. Never throws base::Error.
Place create_again(const std::string& path);

// The directory of a file, opened, when it is one in which recordings may be created: this user's,
// and nobody else may write to it. Else an invalid File, and `reason` says why.
base::File open_own_directory(const std::string& directory, std::string& reason);

// The parts of a path: "/a" and "b" of "/a/b".
std::pair<std::string, std::string> parted_path(const std::string& path);

}  // namespace watch
