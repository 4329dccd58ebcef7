#include "bind/snapshot.hpp"

#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind/plain_types.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace bind {
namespace {

// What is done with each element of an object in turn; false ends it.
template <typename Each>
bool each_in_dict(PyObject* dict, Each&& each) {
  Py_ssize_t at = 0;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(dict, &at, &key, &value) != 0) {
    if (!each(key) || !each(value)) return false;
  }
  return true;
}

template <typename Each>
bool each_in_set(PyObject* set, Each&& each) {
  const nb::object iterator = nb::steal(PyObject_GetIter(set));
  if (!iterator.is_valid()) throw nb::python_error();
  for (;;) {
    const nb::object one = nb::steal(PyIter_Next(iterator.ptr()));
    if (!one.is_valid()) break;
    if (!each(one.ptr())) return false;
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return true;
}

// First the slots (NULL: not set), then the dictionary's keys and values. An instance that never
// needed its dictionary gets one: that of an object that came out of a pickle is there.
template <typename Each>
bool each_in_instance(PyObject* object, const PlainType& plain, Each&& each) {
  for (const std::size_t offset : plain.slots) {
    PyObject* value = nullptr;
    std::memcpy(static_cast<void*>(&value), reinterpret_cast<const char*>(object) + offset,
                sizeof(PyObject*));
    if (!each(value)) return false;
  }
  if (!plain.has_dict) return true;
  const nb::object dict = nb::steal(PyObject_GenericGetDict(object, nullptr));
  if (!dict.is_valid()) throw nb::python_error();
  return each_in_dict(dict.ptr(), each);
}

template <typename Each>
bool each_in(PyObject* object, const PlainType* plain, Each&& each) {
  if (plain != nullptr) return each_in_instance(object, *plain, each);
  if (PyDict_CheckExact(object)) return each_in_dict(object, each);
  if (PySet_CheckExact(object)) return each_in_set(object, each);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) {
    if (!each(PyList_GET_ITEM(object, i))) return false;
  }
  return true;
}

bool is_container(PyObject* object) {
  return PyList_CheckExact(object) || PyDict_CheckExact(object) || PySet_CheckExact(object);
}

bool is_atomic(PyObject* object) {
  return object == Py_None || PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
         PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object) ||
         PyBool_Check(object) || PyTuple_CheckExact(object) || PyFrozenSet_CheckExact(object) ||
         PyCFunction_CheckExact(object) || PyCode_Check(object);
}

// Owns a reference to each known object and to each element that it held: no other object can have
// the address of one of them later.
class Snapshot {
 public:
  // By way of the other one, so that the destructor runs when something raises.
  Snapshot(nb::handle objects, Py_ssize_t begin, nb::object plain_types)
      : Snapshot(std::move(plain_types)) {
    const nb::object fast = nb::steal(PySequence_Fast(objects.ptr(), "objects is no sequence"));
    if (!fast.is_valid()) throw nb::python_error();
    // Asked each time: what decides about a type is Python code.
    for (Py_ssize_t i = std::max<Py_ssize_t>(begin, 0); i < PySequence_Fast_GET_SIZE(fast.ptr());
         ++i) {
      take(static_cast<std::size_t>(i), nb::borrow(PySequence_Fast_GET_ITEM(fast.ptr(), i)));
    }
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() { clear(); }

  [[nodiscard]] std::vector<std::size_t> changed() const {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!holds_the_same(i)) indices.push_back(records_[i].index);
    }
    for (const Bytes& one : bytes_) {
      const auto size = static_cast<std::size_t>(PyByteArray_GET_SIZE(one.object.ptr()));
      if (one.bytes != std::string_view(PyByteArray_AS_STRING(one.object.ptr()), size)) {
        indices.push_back(one.index);
      }
    }
    std::ranges::sort(indices);
    return indices;
  }

  [[nodiscard]] const std::vector<std::size_t>& other() const { return other_; }

  int traverse(visitproc visit, void* arg) const {
    for (const Record& one : records_) Py_VISIT(one.object);
    for (PyObject* one : held_) Py_VISIT(one);
    return types_.traverse(visit, arg);
  }

  // What it held may run code when it goes, which finds this object empty.
  void clear() {
    const std::vector<Record> records = std::exchange(records_, {});
    const std::vector<PyObject*> held = std::exchange(held_, {});
    bytes_.clear();
    types_.clear();
    for (const Record& one : records) Py_DECREF(one.object);
    for (PyObject* one : held) Py_XDECREF(one);
  }

 private:
  explicit Snapshot(nb::object plain_types) : types_(std::move(plain_types)) {}

  struct Record {
    PyObject* object;
    PyTypeObject* type;      // of a plain instance; another one can be assigned to it
    const PlainType* plain;  // empty: a container
    std::size_t index;
    std::size_t end;  // in held_; it begins where the one before ends
  };
  struct Bytes {
    nb::object object;
    std::string bytes;
    std::size_t index;
  };

  void take(std::size_t index, nb::object object) {
    if (PyByteArray_CheckExact(object.ptr())) {
      const auto size = static_cast<std::size_t>(PyByteArray_GET_SIZE(object.ptr()));
      std::string bytes(PyByteArray_AS_STRING(object.ptr()), size);
      bytes_.push_back({std::move(object), std::move(bytes), index});
      return;
    }
    const PlainType* plain = nullptr;
    if (!is_container(object.ptr())) {
      if (is_atomic(object.ptr())) return;
      plain = types_.find(Py_TYPE(object.ptr()));
      if (plain == nullptr) return other_.push_back(index);
    }
    each_in(object.ptr(), plain, [this](PyObject* one) {
      held_.push_back(one);
      Py_XINCREF(one);
      return true;
    });
    PyTypeObject* type = Py_TYPE(object.ptr());
    records_.push_back({object.release().ptr(), type, plain, index, held_.size()});
  }

  [[nodiscard]] bool holds_the_same(std::size_t i) const {
    const Record& record = records_[i];
    if (Py_TYPE(record.object) != record.type) return false;
    std::size_t at = i == 0 ? 0 : records_[i - 1].end;
    const bool same = each_in(record.object, record.plain, [&](PyObject* one) {
      if (at == record.end || held_[at] != one) return false;
      ++at;
      return true;
    });
    return same && at == record.end;
  }

  PlainTypes types_;
  std::vector<Record> records_;
  std::vector<PyObject*> held_;
  std::vector<Bytes> bytes_;
  std::vector<std::size_t> other_;
};

int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Snapshot>(self)->traverse(visit, arg) : 0;
}

int clear(PyObject* self) noexcept {
  if (nb::inst_ready(self)) nb::inst_ptr<Snapshot>(self)->clear();
  return 0;
}

}  // namespace

void add_snapshot(nb::module_& module) {
  static PyType_Slot collected[] = {// NOLINT(*-avoid-c-arrays): as CPython takes them
                                    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                                    {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                                    {0, nullptr}};
  nb::class_<Snapshot>(module, "Snapshot", nb::type_slots(collected))
      .def(nb::init<nb::handle, Py_ssize_t, nb::object>(), "objects"_a, "begin"_a = 0,
           "plain_types"_a = nb::none())
      .def("changed", &Snapshot::changed)
      .def("other", &Snapshot::other);
}

}  // namespace bind
