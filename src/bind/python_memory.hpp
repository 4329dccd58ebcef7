#pragma once
// The interpreter's threads, frames and code objects, read out of this process's memory while they
// run on: without the GIL and without following a pointer. Everything is a copy made by the system
// (base/own_memory.hpp), so that a stale pointer gives "no", or the bytes of something else, but
// never a crash. Each CPython has other structures: the one file that knows them is built for the
// version that the module is built for, from its own headers.
//
// Addresses are what a copy said and may be anything. Nothing throws but for lack of memory.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bind {

using Address = std::uintptr_t;

struct PythonThread {
  Address next = 0;
  Address frame = 0;  // the innermost; 0: it runs no Python code
  std::uint64_t native_id = 0;
  bool holds_gil = false;
};

struct PythonFrame {
  Address self = 0;
  Address code = 0;
  Address previous = 0;     // whose call this is; 0: the outermost
  Address instruction = 0;  // that it is at
  bool internal = false;    // the interpreter's own, of no function
};

struct PythonCode {
  std::string function, file;
  std::int64_t first_line = 0;
  std::vector<std::uint8_t> line_table;
  Address instructions = 0;
  Address first_traceable = 0;  // a frame before it is being made
};

// "": the functions below work. Else why not, as a sentence. With the GIL held.
std::string why_no_python_memory();

// The main interpreter's newest thread; 0: none. Not in a process without an interpreter.
Address first_thread();

std::optional<PythonThread> read_thread(Address address);
std::optional<PythonFrame> read_frame(Address address);
// nullopt also for what isn't a code object. Names are cut to their last kMostNameCharacters.
std::optional<PythonCode> read_code(Address address);

inline constexpr std::size_t kMostNameCharacters = 200;
inline constexpr std::size_t kMostLineTableBytes = 1U << 20;

}  // namespace bind
