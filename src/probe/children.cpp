#include "probe/children.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "probe/directory.hpp"

namespace probe {

bool ChildrenFiles::list_threads(const ProcDirectory& proc, pid_t pid) {
  const base::File directory =
      base::File::try_open_at(proc.fd(), ProcPath(pid, "task").text(), O_RDONLY | O_DIRECTORY);
  if (!directory.valid()) return false;
  for (auto& thread : threads_) thread.listed = false;
  alignas(std::uint64_t) std::array<char, 4096> buffer;
  const bool read =
      visit_numbered_entries(directory.fd(), buffer, [&](pid_t tid, std::uint64_t /*inode*/) {
        const auto known = std::ranges::find(threads_, tid, &Thread::tid);
        if (known != threads_.end()) {
          known->listed = true;
        } else {
          threads_.push_back({tid, {}, true});
        }
      });
  std::erase_if(threads_, [](const Thread& thread) { return !thread.listed; });
  return read;
}

// Returns how many couldn't be read: the thread is gone, or there is no such file.
std::size_t ChildrenFiles::read_kept(const ProcDirectory& proc, pid_t pid, std::span<char> buffer,
                                     std::vector<pid_t>& children) {
  std::size_t unread = 0;
  for (auto& thread : threads_) {
    const ProcPath path(pid, thread.tid, "children");
    const Text text = thread.file.read(proc, path.text(), buffer);
    if (text.access != Access::kRead) {
      thread.file.close();  // the thread has ended; its number may be in use again
      ++unread;
      continue;
    }
    parse_children(text.text, [&](pid_t child) { children.push_back(child); });
  }
  return unread;
}

bool ChildrenFiles::read(const ProcDirectory& proc, pid_t pid, std::int64_t threads,
                         std::span<char> buffer, std::vector<pid_t>& children) {
  // The number of threads tells cheaply that one came or went; one that replaced another is
  // found by its file.
  if (static_cast<std::int64_t>(threads_.size()) == threads &&
      read_kept(proc, pid, buffer, children) == 0) {
    return true;
  }
  if (!list_threads(proc, pid)) return false;
  return read_kept(proc, pid, buffer, children) < threads_.size();
}

}  // namespace probe
