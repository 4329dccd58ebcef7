#include "probe/listing.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "probe/directory.hpp"
#include "probe/process_stat.hpp"

namespace probe {

void Listing::ask(Entry& entry, std::span<char> buffer) const noexcept {
  const ProcPath path(entry.pid, "stat");
  const base::File file = base::File::try_open_at(proc_->fd(), path.text(), O_RDONLY);
  entry.session = 0;
  if (!file.valid()) {
    entry.parent = errno == EACCES || errno == EPERM ? 0 : kUnread;
    return;
  }
  const auto stat = parse_pid_stat(base::read_text(file.fd(), buffer));
  entry.parent = stat ? stat->parent : kUnread;
  if (stat) entry.session = stat->session;
}

bool Listing::refresh(std::span<char> buffer, bool recheck) {
  std::swap(previous_, current_);
  current_.clear();
  const bool read = visit_numbered_entries(
      proc_->fd(), buffer,
      [&](pid_t pid, std::uint64_t inode) { current_.push_back({pid, 0, inode, 0}); });
  if (!read) {
    std::swap(previous_, current_);
    return false;
  }
  if (!std::ranges::is_sorted(current_, {}, &Entry::pid)) {
    std::ranges::sort(current_, {}, &Entry::pid);  // a captured tree
  }
  bool asked = false;
  auto before = previous_.cbegin();
  for (auto& entry : current_) {
    while (before != previous_.cend() && before->pid < entry.pid) ++before;
    if (before != previous_.cend() && before->pid == entry.pid && before->inode == entry.inode) {
      entry.parent = before->parent;
      entry.session = before->session;
    } else {
      ask(entry, buffer);
      asked = true;
    }
  }
  if (!recheck) return asked;
  // Those whose parent has ended were given to another.
  for (auto& entry : current_) {
    if (entry.parent == 0 || std::ranges::binary_search(current_, entry.parent, {}, &Entry::pid)) {
      continue;
    }
    ask(entry, buffer);
    asked = true;
  }
  return asked;
}

pid_t Listing::session_of(pid_t pid) const noexcept {
  const auto found = std::ranges::lower_bound(current_, pid, {}, &Entry::pid);
  return found != current_.end() && found->pid == pid ? found->session : 0;
}

std::optional<std::int64_t> Listing::processes() const noexcept {
  if (current_.empty() || current_.front().pid != 1) return std::nullopt;
  return static_cast<std::int64_t>(current_.size());
}

}  // namespace probe
