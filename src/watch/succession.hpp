#pragma once
// The recording's descriptor as the kernel holds it, while the sampler may put another file in its
// place. Not thread-safe.

#include <optional>
#include <string>

#include "base/file.hpp"

namespace watch {

class RecordingFile {
 public:
  RecordingFile(base::File file, std::string path);

  // -1 when the user's code has closed it and it can't be opened again. Each call may close what an
  // earlier one returned: there is one reader, and it goes on in this one.
  [[nodiscard]] int lend();
  // For the sampler: the same, but what is lent stays open. When a sampler was lost just after it
  // had put a thinned copy in the file's place, that copy.
  [[nodiscard]] int newest();

  void move_to(base::File file, std::string path);
  void rename(std::string path) { path_ = std::move(path); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // While the file system doesn't answer, nobody may ask for the descriptor's identity.
  void set_stalled(bool stalled) noexcept { stalled_ = stalled; }
  [[nodiscard]] bool stalled() const noexcept { return stalled_; }

  // What the user's code has closed isn't ours to close: its number may be another file's.
  void let_go();

 private:
  bool is_ours();
  void adopt_copy();

  base::File file_;
  std::string path_;
  base::FileIdentity identity_;
  base::File lent_;  // an earlier file that somebody may still read
  base::FileIdentity lent_identity_;
  int lent_number_ = -1;
  bool stalled_ = false;
};

}  // namespace watch
