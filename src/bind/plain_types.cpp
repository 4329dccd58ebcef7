#include "bind/plain_types.hpp"

#include <structmember.h>

#include <array>
#include <optional>
#include <utility>

namespace nb = nanobind;

namespace bind {
namespace {

constexpr std::size_t kPointerBytes = sizeof(PyObject*);

bool is_heap_type(const PyTypeObject* type) { return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0; }

std::size_t basic_bytes(const PyTypeObject* type) {
  return static_cast<std::size_t>(type->tp_basicsize);
}

// What `type` adds to an instance of its base is known to the byte: slots, and the pointers to
// dictionary and weak references. A class of a C extension has more, or says less of it.
bool add_layout(const PyTypeObject* type, PlainType& plain) {
  const PyTypeObject* base = type->tp_base;
  std::size_t expected = basic_bytes(base);
  for (const PyMemberDef* one = type->tp_members; one != nullptr && one->name != nullptr; ++one) {
    const bool pointer =
        one->offset == type->tp_weaklistoffset || one->offset == type->tp_dictoffset;
    if (pointer) continue;  // a C class tells where they are in this way
    if (one->type != T_OBJECT_EX) return false;
    plain.slots.push_back(static_cast<std::size_t>(one->offset));
    expected += kPointerBytes;
  }
  if (type->tp_weaklistoffset > 0 && base->tp_weaklistoffset == 0) expected += kPointerBytes;
  if (type->tp_dictoffset > 0 && base->tp_dictoffset == 0) expected += kPointerBytes;
  return basic_bytes(type) == expected && type->tp_itemsize == 0;
}

// No class of it says how its instances are pickled.
bool is_pickled_as_usual(const PyTypeObject* type) {
  constexpr std::array kNames{"__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* one = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (one == &PyBaseObject_Type) continue;
    if (!is_heap_type(one)) return false;
    for (const char* name : kNames) {
      if (PyDict_GetItemString(one->tp_dict, name) != nullptr) return false;
    }
    PyObject* dict = PyDict_GetItemString(one->tp_dict, "__dict__");
    if (dict != nullptr && !Py_IS_TYPE(dict, &PyGetSetDescr_Type)) return false;
  }
  return true;
}

std::optional<PlainType> layout_of(PyTypeObject* type) {
  PlainType plain;
  for (const PyTypeObject* one = type; one != &PyBaseObject_Type; one = one->tp_base) {
    if (one == nullptr || !is_heap_type(one) || !add_layout(one, plain)) return std::nullopt;
  }
  if (!is_pickled_as_usual(type)) return std::nullopt;
  plain.has_dict = type->tp_dictoffset != 0;
  return plain;
}

}  // namespace

PlainTypes::PlainTypes(nb::object decide)
    : decide_(std::move(decide)),
      registered_(nb::module_::import_("copyreg").attr("dispatch_table")) {}

const PlainType* PlainTypes::find(PyTypeObject* type) {
  if (type == last_) return last_found_;
  auto [place, is_new] = known_.try_emplace(type);
  Known& known = place->second;  // stays where it is
  if (is_new) {
    known.type = nb::borrow(reinterpret_cast<PyObject*>(type));
    const auto layout = layout_of(type);
    if (layout) known.layout = *layout;
    known.plain = layout && decide(known.type);
  }
  last_ = type;
  last_found_ = known.plain ? &known.layout : nullptr;
  return last_found_;
}

bool PlainTypes::decide(const nb::object& type) const {
  const int registered = PySequence_Contains(registered_.ptr(), type.ptr());
  if (registered < 0) PyErr_Clear();  // its metaclass refuses to be hashed: nobody can pickle that
  if (registered != 0) return false;
  return decide_.is_none() || nb::bool_(decide_(type));
}

int PlainTypes::traverse(visitproc visit, void* arg) const {
  Py_VISIT(decide_.ptr());
  Py_VISIT(registered_.ptr());
  for (const auto& [address, known] : known_) Py_VISIT(known.type.ptr());
  return 0;
}

void PlainTypes::clear() {
  const auto known = std::exchange(known_, {});
  last_ = nullptr;
  decide_ = nb::none();
  registered_ = nb::none();
}

}  // namespace bind
