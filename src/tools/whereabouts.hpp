#pragma once
// Whether the recording still lies where it was: people delete and move files that are open, and so
// do cleaners of temporary folders. By the descriptor's link in /proc and two calls of stat.

#include <string>

namespace tools {

struct Whereabouts {
  enum class What {
    kThere,
    kRenamed,  // `path` leads to it now
    kGone,     // deleted, or another file lies there
    kUnknown,  // no path leads there from here (another mount), or it couldn't be asked
  } what = What::kUnknown;
  std::string path;  // where it is, or was
};

// The path that an open file has, or had when it is gone; "": it never had one (a memfd).
std::string path_of(int fd);

// `path`: where it was.
Whereabouts look_for(int fd, const std::string& path);

}  // namespace tools
