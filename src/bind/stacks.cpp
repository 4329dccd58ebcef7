#include "bind/stacks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/file.hpp"
#include "base/own_memory.hpp"
#include "bind/python_memory.hpp"
#include "watch/line_table.hpp"
#include "watch/stack_text.hpp"

namespace bind {
namespace {

constexpr std::size_t kMostThreads = 100;
constexpr std::size_t kMostFrames = 100;
constexpr std::size_t kMostInternalFrames = kMostFrames;  // there is one for each call from C
constexpr int kTries = 5;
constexpr std::size_t kMostCommBytes = 64;

struct Walk {
  std::vector<PythonFrame> frames;  // innermost first
  bool cut = false;                 // there are more
  bool broken = false;              // it led nowhere: it changed meanwhile
};

Walk walk_from(Address innermost) {
  Walk walk;
  for (Address at = innermost; at != 0;) {
    if (walk.frames.size() == kMostFrames + kMostInternalFrames) {
      walk.cut = true;
      break;
    }
    const auto frame = read_frame(at);
    const auto is_known = [at](const PythonFrame& one) { return one.self == at; };
    if (!frame || std::ranges::any_of(walk.frames, is_known)) {
      walk.broken = true;
      break;
    }
    walk.frames.push_back(*frame);
    at = frame->previous;
  }
  return walk;
}

// The innermost function may have gone on: only where it is has changed then, not what called it.
bool is_same(const Walk& before, const Walk& after) {
  if (after.broken || before.frames.size() != after.frames.size()) return false;
  for (std::size_t i = 0; i < before.frames.size(); ++i) {
    const PythonFrame& a = before.frames[i];
    const PythonFrame& b = after.frames[i];
    if (a.self != b.self || a.code != b.code || a.previous != b.previous) return false;
    if (i > 0 && a.instruction != b.instruction) return false;
  }
  return true;
}

// The functions of the frames; false when one's code wasn't there any more.
bool decode(const Walk& walk, watch::ThreadStack& thread) {
  bool complete = true;
  thread.frames.clear();
  thread.cut = walk.cut;
  for (const PythonFrame& frame : walk.frames) {
    if (frame.internal) continue;
    if (thread.frames.size() == kMostFrames) {
      thread.cut = true;
      break;
    }
    auto code = read_code(frame.code);
    if (!code) {
      complete = false;
      continue;
    }
    // One that is being made isn't called yet.
    if (thread.frames.empty() && frame.instruction < code->first_traceable) continue;
    const Address offset =
        frame.instruction < code->instructions ? 0 : frame.instruction - code->instructions;
    const auto line = watch::line_of(code->line_table, code->first_line, offset);
    thread.frames.push_back({std::move(code->function), std::move(code->file), line.value_or(0)});
  }
  return complete;
}

std::string name_of(std::uint64_t native_id) {
  const auto comm =
      base::read_small_file(fmt::format("/proc/self/task/{}/comm", native_id), kMostCommBytes);
  return comm ? comm->substr(0, comm->find('\n')) : "";
}

// nullopt when the thread has ended.
std::optional<watch::ThreadStack> stack_of(Address address) {
  watch::ThreadStack stack;
  for (int tries = 0; tries < kTries; ++tries) {
    const auto thread = read_thread(address);
    if (!thread) return std::nullopt;
    stack.native_id = thread->native_id;
    stack.holds_gil = thread->holds_gil;
    const Walk before = walk_from(thread->frame);
    stack.changed = !decode(before, stack) || before.broken;
    const auto again = read_thread(address);
    if (!again) return std::nullopt;
    if (!stack.changed && is_same(before, walk_from(again->frame))) break;
    stack.changed = true;
  }
  stack.main = stack.native_id == static_cast<std::uint64_t>(::getpid());
  stack.name = name_of(stack.native_id);
  return stack;
}

struct ThreadList {
  std::vector<Address> threads;  // the newest first; the main one is the last
  bool cut = false;              // there are more
};

// False when it changed meanwhile, so that some may be missing.
bool list_threads(ThreadList& list) {
  list = {};
  for (Address at = first_thread(); at != 0;) {
    if (list.threads.size() == kMostThreads) {
      list.cut = true;
      return true;
    }
    const auto thread = read_thread(at);
    if (!thread || std::ranges::find(list.threads, at) != list.threads.end()) return false;
    list.threads.push_back(at);
    at = thread->next;
  }
  return true;
}

std::string read_stacks() {
  int here = 0;
  int copy = 0;
  if (!base::copy_own_memory(reinterpret_cast<Address>(&here), &copy, sizeof here)) {
    return fmt::format("not safe here: process_vm_readv is refused ({})", std::strerror(errno));
  }
  ThreadList list;
  for (int tries = 1; !list_threads(list); ++tries) {
    list.cut = tries == kTries;
    if (list.cut) break;
  }
  std::vector<watch::ThreadStack> stacks;
  for (const Address thread : list.threads) {
    if (auto stack = stack_of(thread)) stacks.push_back(std::move(*stack));
  }
  return watch::stacks_text(std::move(stacks), list.cut);
}

}  // namespace

std::function<std::string()> stacks_reader() {
  if (std::string why = why_no_python_memory(); !why.empty()) return [why] { return why; };
  return read_stacks;
}

}  // namespace bind
