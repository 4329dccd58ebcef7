#pragma once
// What `jumper report` says of a recording, at once or while it is written.

#include <string>

#include "store/recording.hpp"

namespace tools {

struct ReportOptions {
  std::string path;
  std::string level = "process";  // "": all
  bool json = false;
  bool follow = false;
  bool stacks = false;   // ask for the stacks at once
  std::string output{};  // a page to write instead; "": none
  bool force = false;    // replaces what is there
};

// Whose recording it is, from when, and how many cells it has: one line on standard output.
void print_header(const store::Recording& recording);

// `--follow`: shows the running cell until the recording ends (0), the user leaves (0; a signal
// ends us as it would have), or nobody reads any more (0). On a terminal a screen that is drawn
// once a second; else a block of lines when there is something new, or with `json` a line for each
// cell that ends. Throws base::Error when the file can't be opened.
int follow(const ReportOptions& options);

}  // namespace tools
