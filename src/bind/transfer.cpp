#include "bind/transfer.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/file.hpp"
#include "bind/waiting.hpp"
#include "bind/words.hpp"
#include "probe/memory_guard.hpp"
#include "transfer/mapping.hpp"
#include "transfer/segment.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace bind {
namespace {

// A segment to be, and the exports of its buffers.
class Writer {
 public:
  explicit Writer(transfer::SegmentWriter writer) : writer_(std::move(writer)) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { release(); }

  nb::tuple add(nb::handle buffer, bool discard) {
    if (finished_) throw std::invalid_argument("the segment is finished");
    Py_buffer& view = exports_.emplace_back();
    if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_SIMPLE) != 0) {
      exports_.pop_back();
      throw nb::python_error();
    }
    const std::span bytes(static_cast<const std::byte*>(view.buf),
                          static_cast<std::size_t>(view.len));
    const auto place = discard ? writer_.add_and_discard(bytes) : writer_.add(bytes);
    return nb::make_tuple(place.offset_bytes, place.size_bytes);
  }

  [[nodiscard]] std::size_t size_bytes() const { return writer_.size_bytes(); }

  int finish(int threads) {
    if (finished_) throw std::invalid_argument("the segment is finished");
    finished_ = true;  // whatever comes of it
    struct Releasing {
      Writer& writer;
      ~Releasing() { writer.release(); }
    } const releasing{*this};
    const nb::gil_scoped_release released;
    return writer_.finish(std::max(threads, 1)).release();
  }

 private:
  void release() {
    for (Py_buffer& view : exports_) PyBuffer_Release(&view);
    exports_.clear();
  }

  transfer::SegmentWriter writer_;
  std::deque<Py_buffer> exports_;  // never moved: an export may point into itself
  bool finished_ = false;
};

std::unique_ptr<Writer> make_writer(const std::string& transport, nb::handle directory,
                                    std::optional<std::size_t> most_bytes) {
  if (transport != "memfd" && transport != "file") {
    throw std::invalid_argument("transport '" + transport + "' is not one of memfd, file");
  }
  const auto kind = transport == "memfd" ? transfer::Transport::kMemfd : transfer::Transport::kFile;
  return std::make_unique<Writer>(
      transfer::SegmentWriter(kind, argument_bytes(directory),
                              most_bytes ? *most_bytes : transfer::available_memory_bytes()));
}

// A segment that was received. Each export holds the object, so none outlives the mapping.
struct Mapped {
  explicit Mapped(transfer::Mapping whole) : mapping(std::move(whole)) {}
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { end_without_gil(mapping); }

  transfer::Mapping mapping;
};

std::unique_ptr<Mapped> map_segment(int descriptor) {
  base::File file(descriptor);
  const nb::gil_scoped_release released;
  return std::make_unique<Mapped>(transfer::Mapping::open(std::move(file)));
}

int export_mapping(PyObject* self, Py_buffer* view, int flags) noexcept {
  static char nothing = 0;  // of an empty segment; NULL would mean "released"
  transfer::Mapping& mapping = nb::inst_ptr<Mapped>(self)->mapping;
  const std::size_t size_bytes = mapping.size_bytes();
  void* begin = size_bytes == 0 ? &nothing : static_cast<void*>(mapping.view(0, size_bytes).data());
  return PyBuffer_FillInfo(view, self, begin, static_cast<Py_ssize_t>(size_bytes), 0, flags);
}

nb::object view_of(nb::handle self, std::size_t offset_bytes, std::size_t size_bytes) {
  static_cast<void>(nb::cast<Mapped&>(self).mapping.view(offset_bytes, size_bytes));  // throws
  const nb::object whole = nb::steal(PyMemoryView_FromObject(self.ptr()));
  if (!whole.is_valid()) throw nb::python_error();
  return whole[nb::slice(static_cast<Py_ssize_t>(offset_bytes),
                         static_cast<Py_ssize_t>(offset_bytes + size_bytes))];
}

nb::list changed(const Mapped& self, std::size_t offset_bytes, std::size_t size_bytes) {
  std::vector<transfer::Range> ranges;
  {
    const nb::gil_scoped_release released;
    ranges = self.mapping.changed(offset_bytes, size_bytes);
  }
  nb::list found;
  for (const transfer::Range& one : ranges) {
    found.append(nb::make_tuple(one.offset_bytes, one.size_bytes));
  }
  return found;
}

std::int64_t room_bytes() {
  std::array<char, 16384> buffer{};
  return probe::MemoryGuard("/", getpid()).room_bytes(buffer);
}

}  // namespace

void add_transfer(nb::module_& module) {
  using Released = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Writer>(module, "SegmentWriter")
      .def(nb::new_(&make_writer), "transport"_a, "directory"_a = "", "most_bytes"_a = nb::none())
      .def("add", &Writer::add, "buffer"_a, "discard"_a = false)
      .def_prop_ro("size_bytes", &Writer::size_bytes)
      .def("finish", &Writer::finish, "threads"_a = 2);

  static PyType_Slot exporting[] = {// NOLINT(*-avoid-c-arrays): as CPython takes them
                                    {Py_bf_getbuffer, reinterpret_cast<void*>(&export_mapping)},
                                    {0, nullptr}};
  nb::class_<Mapped>(module, "SegmentMapping", nb::type_slots(exporting))
      .def(nb::new_(&map_segment), "descriptor"_a)
      .def_prop_ro("size_bytes", [](const Mapped& self) { return self.mapping.size_bytes(); })
      .def("view", &view_of, "offset_bytes"_a, "size_bytes"_a)
      .def("changed", &changed, "offset_bytes"_a, "size_bytes"_a)
      .def(
          "discard",
          [](Mapped& self, std::size_t offset_bytes, std::size_t size_bytes) {
            self.mapping.discard({offset_bytes, size_bytes});
          },
          "offset_bytes"_a, "size_bytes"_a, Released());

  module.def("room_bytes", &room_bytes, Released());
}

}  // namespace bind
