#pragma once
// The entries of a directory whose names are numbers: the processes of /proc, the threads of
// /proc/PID/task.

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <system_error>

namespace probe {

// Calls visit(number, inode number) for each entry, in the directory's order (/proc: ascending).
// `buffer`: 1 KiB or more, aligned for dirent64. No allocation. False when it can't be read to its
// end. In /proc a process keeps its inode number unless memory is short; a new process with the
// same pid has another one.
template <typename Visit>
bool visit_numbered_entries(int directory_fd, std::span<char> buffer, Visit visit) {
  if (::lseek(directory_fd, 0, SEEK_SET) != 0) return false;
  for (;;) {
    const ssize_t count = ::getdents64(directory_fd, buffer.data(), buffer.size());
    if (count <= 0) return count == 0;
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
      at += entry->d_reclen;
      const std::string_view name(entry->d_name);
      std::int32_t number = 0;
      const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (error != std::errc{} || stop != name.data() + name.size() || number <= 0) continue;
      visit(number, static_cast<std::uint64_t>(entry->d_ino));
    }
  }
}

}  // namespace probe
