#include "bind/pickling.hpp"

#include <cstring>

namespace nb = nanobind;
using namespace nb::literals;

namespace bind {
namespace {

// The memo of _pickle's objects, as Modules/_pickle.c of CPython 3.11, 3.12 and 3.13 has it. Its
// own way to tell it makes a tuple and a number of each object: 1.2 s for a million.
struct MemoEntry {
  PyObject* object;
  Py_ssize_t number;
};

struct MemoTable {
  std::size_t mask;
  std::size_t used;
  std::size_t allocated;
  MemoEntry* entries;
};

struct PicklerHead {
  PyObject_HEAD MemoTable* memo;
};

struct UnpicklerHead {
  PyObject_HEAD PyObject* stack;
  PyObject** memo;
  std::size_t memo_allocated;
  std::size_t memo_used;
};

constexpr bool kKnownVersion = PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030e0000;

nb::list of_table(const MemoTable& table) {
  nb::list found = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(table.used)));
  if (!found.is_valid()) throw nb::python_error();
  std::size_t placed = 0;
  for (std::size_t at = 0; at < table.allocated; ++at) {
    const MemoEntry& entry = table.entries[at];
    const auto number = static_cast<std::size_t>(entry.number);
    if (entry.object == nullptr) continue;
    if (number >= table.used || PyList_GET_ITEM(found.ptr(), entry.number) != nullptr) return {};
    PyList_SET_ITEM(found.ptr(), entry.number, Py_NewRef(entry.object));
    ++placed;
  }
  return placed == table.used ? found : nb::list();
}

nb::list of_array(PyObject* const* objects, std::size_t count) {
  nb::list found = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!found.is_valid()) throw nb::python_error();
  for (std::size_t at = 0; at < count; ++at) {
    if (objects[at] == nullptr) return {};
    PyList_SET_ITEM(found.ptr(), static_cast<Py_ssize_t>(at), Py_NewRef(objects[at]));
  }
  return found;
}

// By the memo's own `copy`: {id: (number, object)}, or {number: object}.
nb::list of_copy(nb::handle memo, bool is_pickler) {
  const nb::dict copied = nb::cast<nb::dict>(memo.attr("copy")());
  nb::list found = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(copied.size())));
  if (!found.is_valid()) throw nb::python_error();
  for (auto [key, value] : copied) {
    const nb::object number = is_pickler ? nb::object(value[0]) : nb::borrow(key);
    const nb::object object = is_pickler ? nb::object(value[1]) : nb::borrow(value);
    const auto at = nb::cast<Py_ssize_t>(number);
    if (at < 0 || at >= PyList_GET_SIZE(found.ptr())) throw nb::value_error("numbers with gaps");
    PyList_SetItem(found.ptr(), at, object.inc_ref().ptr());
  }
  return found;
}

nb::list of_head(PyObject* object, bool is_pickler) {
  if (is_pickler) return of_table(*reinterpret_cast<PicklerHead*>(object)->memo);
  const auto* head = reinterpret_cast<UnpicklerHead*>(object);
  return of_array(head->memo, head->memo_used);
}

// Whether the layout is what we think, asked once of small ones of both kinds.
bool layout_is_known() {
  if (!kKnownVersion) return false;
  const nb::object pickle = nb::module_::import_("_pickle");
  const nb::object file = nb::module_::import_("io").attr("BytesIO")();
  const nb::object pickler = pickle.attr("Pickler")(file, 4);
  pickler.attr("dump")(nb::make_tuple(nb::list(), nb::str("text"), nb::dict(), nb::str("other")));
  file.attr("seek")(0);
  const nb::object unpickler = pickle.attr("Unpickler")(file);
  unpickler.attr("load")();
  const auto agrees = [](const nb::object& object, bool is_pickler) {
    const nb::list fast = of_head(object.ptr(), is_pickler);
    const nb::list slow = of_copy(object.attr("memo"), is_pickler);
    if (fast.size() != slow.size() || slow.size() == 0) return false;
    for (std::size_t at = 0; at < slow.size(); ++at) {
      if (fast[at].ptr() != slow[at].ptr()) return false;
    }
    return true;
  };
  return agrees(pickler, true) && agrees(unpickler, false);
}

nb::list memoized(const nb::object& object) {
  static const bool known = layout_is_known();
  const nb::object pickle = nb::module_::import_("_pickle");
  const bool is_pickler = nb::isinstance(object, pickle.attr("Pickler"));
  if (!is_pickler && !nb::isinstance(object, pickle.attr("Unpickler"))) {
    throw nb::type_error("a pickler or an unpickler is expected");
  }
  if (known) return of_head(object.ptr(), is_pickler);
  return of_copy(object.attr("memo"), is_pickler);
}

PyObject* answer(PyObject* self, PyObject* object) {
  const int usual =
      PySet_Contains(PyTuple_GET_ITEM(self, 0), reinterpret_cast<PyObject*>(Py_TYPE(object)));
  if (usual < 0) return nullptr;
  if (usual > 0) Py_RETURN_NOTIMPLEMENTED;
  return PyObject_CallOneArg(PyTuple_GET_ITEM(self, 1), object);
}

PyMethodDef answer_definition = {"reducer_override", answer, METH_O, nullptr};

nb::object reducer(const nb::set& usual_types, const nb::callable& otherwise) {
  const nb::tuple parts = nb::make_tuple(usual_types, otherwise);
  return nb::steal(PyCFunction_New(&answer_definition, parts.ptr()));
}

}  // namespace

void add_pickling(nb::module_& module) {
  module.def("memoized", &memoized, "pickler"_a);
  module.def("reducer", &reducer, "usual_types"_a, "otherwise"_a);
}

}  // namespace bind
