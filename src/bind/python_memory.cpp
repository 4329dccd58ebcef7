// The only file that is compiled as if it were part of CPython: its internal headers have the
// structures of frames. Those don't change within one minor version (debuggers rely on it), and the
// module is built for each.
#define Py_BUILD_CORE 1  // NOLINT(readability-identifier-naming): CPython's name
#include "bind/python_memory.hpp"

#include <Python.h>

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED)
#if __has_include(<internal/pycore_frame.h>)
#define JUMPER_KNOWS_FRAMES 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wextra"
#include <internal/pycore_frame.h>
#pragma GCC diagnostic pop
#endif
#endif

#include <algorithm>
#include <array>
#include <cstring>

#include "base/own_memory.hpp"

namespace bind {

#ifdef JUMPER_KNOWS_FRAMES

namespace {

template <typename T>
bool copy(Address address, T& out, std::size_t size = sizeof(T)) noexcept {
  return address != 0 && base::copy_own_memory(address, &out, size);
}

Address address_of(const void* pointer) noexcept { return reinterpret_cast<Address>(pointer); }

// A copied object that is a subclass of str counts too: file names may be.
bool is_text(const PyTypeObject* type) noexcept {
  if (type == &PyUnicode_Type) return true;
  unsigned long flags = 0;
  return copy(address_of(type) + offsetof(PyTypeObject, tp_flags), flags) &&
         (flags & Py_TPFLAGS_UNICODE_SUBCLASS) != 0;
}

void append_utf8(std::uint32_t point, std::string& out) {
  constexpr std::uint32_t kReplacement = 0xFFFD;
  if ((point >= 0xD800 && point < 0xE000) || point > 0x10FFFF) point = kReplacement;
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  const auto tail = [](std::uint32_t bits) { return 0x80U | (bits & 0x3FU); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0U | (point >> 6U));
    put(tail(point));
  } else if (point < 0x10000) {
    put(0xE0U | (point >> 12U));
    put(tail(point >> 6U));
    put(tail(point));
  } else {
    put(0xF0U | (point >> 18U));
    put(tail(point >> 12U));
    put(tail(point >> 6U));
    put(tail(point));
  }
}

// A str, cut to its last characters: of a path and of a qualified name those tell most.
std::optional<std::string> read_text(Address address) {
  PyASCIIObject head;
  if (!copy(address, head) || !is_text(head.ob_base.ob_type) || head.length < 0) {
    return std::nullopt;
  }
  const auto length = static_cast<std::size_t>(head.length);
  const std::size_t kept = std::min(length, kMostNameCharacters);
  const std::size_t width = head.state.kind;
  if (width != 1 && width != 2 && width != 4) return std::nullopt;
  Address data = address + sizeof(PyASCIIObject);
  if (head.state.compact == 0) {
    if (!copy(address + offsetof(PyUnicodeObject, data), data)) return std::nullopt;
  } else if (head.state.ascii == 0) {
    data = address + sizeof(PyCompactUnicodeObject);
  }
  std::array<std::uint8_t, kMostNameCharacters * 4> bytes{};
  if (kept > 0 && !copy(data + (length - kept) * width, bytes, kept * width)) return std::nullopt;
  std::string text = kept < length ? "…" : "";
  for (std::size_t i = 0; i < kept; ++i) {
    std::uint32_t point = 0;  // little-endian, as both our machines are
    std::memcpy(&point, bytes.data() + i * width, width);
    append_utf8(point, text);
  }
  return text;
}

std::optional<std::vector<std::uint8_t>> read_bytes(Address address) {
  PyVarObject head;
  if (!copy(address, head) || head.ob_base.ob_type != &PyBytes_Type) return std::nullopt;
  if (head.ob_size < 0 || static_cast<std::size_t>(head.ob_size) > kMostLineTableBytes) {
    return std::nullopt;
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(head.ob_size));
  if (!bytes.empty() && !base::copy_own_memory(address + offsetof(PyBytesObject, ob_sval),
                                               bytes.data(), bytes.size())) {
    return std::nullopt;
  }
  return bytes;
}

#if PY_VERSION_HEX < 0x030D0000
Address innermost_frame(const PyThreadState& thread) noexcept {
  _PyCFrame frame;
  return copy(address_of(thread.cframe), frame) ? address_of(frame.current_frame) : 0;
}
Address code_of(const _PyInterpreterFrame& frame) noexcept { return address_of(frame.f_code); }
Address instruction_of(const _PyInterpreterFrame& frame) noexcept {
  return address_of(frame.prev_instr);
}
#else
Address innermost_frame(const PyThreadState& thread) noexcept {
  return address_of(thread.current_frame);
}
Address code_of(const _PyInterpreterFrame& frame) noexcept {
  return address_of(frame.f_executable);
}
Address instruction_of(const _PyInterpreterFrame& frame) noexcept {
  return address_of(frame.instr_ptr);
}
#endif

bool holds_gil([[maybe_unused]] Address address, const PyThreadState& thread) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  static_cast<void>(thread);
  return address_of(_PyThreadState_UncheckedGet()) == address;  // one for all threads, in 3.11
#elif PY_VERSION_HEX < 0x030D0000
  return thread._status.active != 0;
#else
  return thread._status.holds_gil != 0;
#endif
}

}  // namespace

std::string why_no_python_memory() {
  if (Py_Version >> 16U != PY_VERSION_HEX >> 16U) {
    return "not supported on this Python: the module was built for another version";
  }
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    return "not supported in a sub-interpreter";
  }
  return "";
}

Address first_thread() {
  // The main interpreter lies in the program's own data: it is there for ever.
  return address_of(PyInterpreterState_ThreadHead(PyInterpreterState_Main()));
}

std::optional<PythonThread> read_thread(Address address) {
  PyThreadState thread;
  if (!copy(address, thread) || thread.interp != PyInterpreterState_Main()) return std::nullopt;
  return PythonThread{address_of(thread.next), innermost_frame(thread), thread.native_thread_id,
                      holds_gil(address, thread)};
}

std::optional<PythonFrame> read_frame(Address address) {
  _PyInterpreterFrame frame;
  if (!copy(address, frame, offsetof(_PyInterpreterFrame, localsplus))) return std::nullopt;
  PythonFrame found{address, code_of(frame), address_of(frame.previous), instruction_of(frame),
                    false};
#if PY_VERSION_HEX >= 0x030C0000
  found.internal = frame.owner == FRAME_OWNED_BY_CSTACK;
#endif
  return found;
}

std::optional<PythonCode> read_code(Address address) {
  PyCodeObject code;
  if (!copy(address, code) || code.ob_base.ob_base.ob_type != &PyCode_Type) return std::nullopt;
  auto function = read_text(address_of(code.co_qualname));
  auto file = read_text(address_of(code.co_filename));
  auto table = read_bytes(address_of(code.co_linetable));
  if (!function || !file || !table) return std::nullopt;
  PythonCode found{std::move(*function),
                   std::move(*file),
                   code.co_firstlineno,
                   std::move(*table),
                   address + offsetof(PyCodeObject, co_code_adaptive),
                   0};
  const auto first = static_cast<Address>(std::max(code._co_firsttraceable, 0));
  found.first_traceable = found.instructions + first * sizeof(_Py_CODEUNIT);
  return found;
}

#else

std::string why_no_python_memory() { return "not supported on this Python"; }
Address first_thread() { return 0; }
std::optional<PythonThread> read_thread(Address /*address*/) { return std::nullopt; }
std::optional<PythonFrame> read_frame(Address /*address*/) { return std::nullopt; }
std::optional<PythonCode> read_code(Address /*address*/) { return std::nullopt; }

#endif

}  // namespace bind
