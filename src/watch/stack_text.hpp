#pragma once
// The Python stacks of a process's threads as text: what a recording keeps of them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "record/records.hpp"

namespace watch {

struct StackFrame {
  std::string function;  // with its class: "Model.fit"
  std::string file;
  std::int64_t line = 0;  // 0: it has none
};

struct ThreadStack {
  std::uint64_t native_id = 0;  // as the system counts threads
  std::string name;             // as the system calls it; "" where it doesn't
  bool main = false;
  bool holds_gil = false;
  bool changed = false;  // it ran on, so that frames of different moments may stand together
  bool cut = false;      // there are more frames further out
  std::vector<StackFrame> frames;  // innermost first
};

inline constexpr std::size_t kMostStackTextBytes = 48U << 10;

// A thread's line, then a line for each frame; the thread that holds the interpreter's lock first,
// then the main one. At most kMostStackTextBytes, cut between lines with a line that says so. No
// byte below 0x20 but the newlines, whatever the names are.
//   thread 4242 "python" · main thread · holds the GIL
//     /home/me/fit.py:12 in Model.fit
std::string stacks_text(std::vector<ThreadStack> threads, bool threads_cut);

// The answer to who asks, read now: `read` gives the text or a sentence why there is none; empty:
// no Python of ours runs here. No longer than kMostStackTextBytes; "" where memory is short.
record::Stacks read_stacks(const std::function<std::string()>& read) noexcept;

}  // namespace watch
