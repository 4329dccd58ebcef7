#pragma once
// All processes of the node, with their parents: one pass over /proc, which asks only the new ones
// for their parent.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probe/process_files.hpp"

namespace probe {

class Listing {
 public:
  struct Entry {
    pid_t pid = 0;
    pid_t parent = 0;  // when it was asked; 0: none, or refused (hidepid); kUnread: ask again
    std::uint64_t inode = 0;
    pid_t session = 0;  // when it was asked; 0: unknown
  };

  static constexpr pid_t kUnread = -1;

  explicit Listing(const ProcDirectory& proc) noexcept : proc_(&proc) {}

  // Lists /proc anew. `recheck`: also asks those again whose parent isn't there any more. Returns
  // true when any parent was asked, so that there may be processes the caller hasn't seen. About
  // 0.7 us a process and 8 us a new one. Allocates when there are more processes than ever.
  bool refresh(std::span<char> buffer, bool recheck);

  // Ascending by pid. Empty before the first refresh, or when /proc can't be read.
  [[nodiscard]] std::span<const Entry> entries() const noexcept { return current_; }

  // As it was when asked; 0 when it is unknown, or isn't listed.
  [[nodiscard]] pid_t session_of(pid_t pid) const noexcept;

  // nullopt where /proc shows only some processes (hidepid: then not even process 1).
  [[nodiscard]] std::optional<std::int64_t> processes() const noexcept;

 private:
  void ask(Entry& entry, std::span<char> buffer) const noexcept;

  const ProcDirectory* proc_;
  std::vector<Entry> current_;
  std::vector<Entry> previous_;
};

}  // namespace probe
