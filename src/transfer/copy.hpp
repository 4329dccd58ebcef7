#pragma once
// Much memory moved by several threads, in slices. All signals are blocked in every thread at work,
// the calling one included, so user handlers and Ctrl-C wait; no thread is left when a call
// returns.

#include <cstddef>
#include <functional>
#include <span>

namespace transfer {

struct Copy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t size_bytes = 0;
};

// Does `size_bytes` from `begin_bytes` on of the item with this index; 0, or an errno value. Called
// by several threads at once, never twice for the same bytes, never for none. Must not throw.
using SliceWork =
    std::function<int(std::size_t item, std::size_t begin_bytes, std::size_t size_bytes)>;

// Splits items of these sizes into slices of 8 MiB at most and does each once, `threads` of them at
// a time (the calling thread is one; fewer where little is to be done or the system gives no more).
// 0 when all is done, else the first errno value that `work` gave; what was begun is then finished,
// the rest is left.
int for_slices(std::span<const std::size_t> sizes_bytes, int threads, const SliceWork& work);

// memcpy of each; destinations overlap neither each other nor a source. Sources that are files
// which somebody may shorten meanwhile end the process (SIGBUS): those are read, not mapped.
void copy_all(std::span<const Copy> copies, int threads);

}  // namespace transfer
