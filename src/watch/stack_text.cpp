#include "watch/stack_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string_view>

#include "base/clock.hpp"
#include "record/text.hpp"

namespace watch {
namespace {

constexpr std::size_t kMostNameBytes = 1000;  // 200 characters, each four bytes and escaped
constexpr std::string_view kCut = "… the rest is cut\n";

std::string clean(const std::string& name) { return record::escaped(name, kMostNameBytes); }

std::string thread_line(const ThreadStack& thread) {
  std::string line = fmt::format("thread {}", thread.native_id);
  if (!thread.name.empty()) line += fmt::format(" \"{}\"", clean(thread.name));
  if (thread.main) line += " · main thread";
  if (thread.holds_gil) line += " · holds the GIL";
  if (thread.changed) line += " · changed while it was read";
  return line + '\n';
}

std::string frame_line(const StackFrame& frame) {
  const std::string line = frame.line > 0 ? std::to_string(frame.line) : "?";
  return fmt::format("  {}:{} in {}\n", clean(frame.file), line, clean(frame.function));
}

}  // namespace

std::string stacks_text(std::vector<ThreadStack> threads, bool threads_cut) {
  std::ranges::stable_sort(threads, [](const ThreadStack& a, const ThreadStack& b) {
    const auto rank = [](const ThreadStack& one) { return one.holds_gil ? 0 : one.main ? 1 : 2; };
    return rank(a) < rank(b);
  });
  std::string text;
  const auto add = [&text](std::string_view line) {
    const bool fits = text.size() + line.size() + kCut.size() <= kMostStackTextBytes;
    text += fits ? line : kCut;
    return fits;
  };
  for (const ThreadStack& thread : threads) {
    if (!add(thread_line(thread))) return text;
    if (thread.frames.empty() && !add("  no Python code\n")) return text;
    for (const StackFrame& frame : thread.frames) {
      if (!add(frame_line(frame))) return text;
    }
    if (thread.cut && !add("  … called from more\n")) return text;
  }
  if (threads_cut) add("… and more threads\n");
  return text;
}

record::Stacks read_stacks(const std::function<std::string()>& read) noexcept {
  record::Stacks stacks{base::monotonic_ns(), {}};
  try {
    stacks.text = read ? read() : "this process runs no Python of ours";
    if (stacks.text.size() > kMostStackTextBytes) stacks.text.resize(kMostStackTextBytes);
  } catch (const std::exception&) {  // no memory
    stacks.text.clear();
  }
  return stacks;
}

}  // namespace watch
