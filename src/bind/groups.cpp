#include "bind/groups.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <new>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bind/identity_table.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace bind {
namespace {

// As parallel.py names them.
enum class Way : std::uint8_t {
  kNothing,  // no pickler memoizes it
  kAtom,     // may be there twice afterwards: text, numbers
  kNode,     // followed
  kFirst,    // goes before all groups; what it holds isn't looked at
  kOther,    // followed, and its group is for one process alone with all others like it
  kAsk,      // each one decides for itself
};
constexpr int kNobody = -1;
constexpr std::size_t kLongBytes = std::size_t{64} << 10U;

std::size_t var_size(PyObject* object, std::size_t basic, std::size_t item) {
  const Py_ssize_t count = Py_SIZE(object);
  return basic + item * static_cast<std::size_t>(count < 0 ? -count : count);
}

// About as many bytes as sys.getsizeof says; that calls code of the object's.
std::size_t size_of(PyObject* object) {
  if (PyUnicode_Check(object)) {
    return sizeof(PyASCIIObject) + static_cast<std::size_t>(PyUnicode_GET_LENGTH(object)) *
                                       static_cast<std::size_t>(PyUnicode_KIND(object));
  }
  const PyTypeObject& type = *Py_TYPE(object);
  const auto basic = static_cast<std::size_t>(type.tp_basicsize);
  if (PyList_Check(object)) return var_size(object, basic, sizeof(PyObject*));
  if (PyByteArray_Check(object)) return var_size(object, basic, 1);
  if (PyDict_Check(object)) {
    return basic + static_cast<std::size_t>(PyDict_GET_SIZE(object)) * 3 * sizeof(PyObject*);
  }
  if (PyAnySet_Check(object)) {
    return basic + static_cast<std::size_t>(PySet_GET_SIZE(object)) * 2 * sizeof(PyObject*);
  }
  if (type.tp_itemsize == 0 || PyType_Check(object)) return basic;
  return var_size(object, basic, static_cast<std::size_t>(type.tp_itemsize));
}

// Owns a reference to each object that it has met: no other one can have its address meanwhile.
class Groups {
 public:
  // By way of the other one, so that the destructor runs when something raises.
  Groups(const nb::list& values, const nb::list& ends, nb::callable way_of_type, nb::callable ask)
      : Groups(values.size(), std::move(way_of_type), std::move(ask)) {
    for (const nb::handle end : ends) {
      table_.put(reinterpret_cast<std::uintptr_t>(end.ptr()));
      met_.push_back({end.inc_ref().ptr(), kNobody});
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      owner_ = static_cast<int>(i);
      in_other_ = false;
      const nb::object value = nb::borrow(values[i]);
      meet(value.ptr());
      walk();
    }
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;
  ~Groups() {
    for (const Met& one : met_) Py_DECREF(one.object);
    for (PyObject* object : unsure_) Py_DECREF(object);
  }

  // (number of the value that reached them, objects).
  [[nodiscard]] nb::list first() const {
    nb::list found;
    nb::list objects;
    for (std::size_t i = 0; i < first_.size(); ++i) {
      if (i == 0 || first_[i].owner != first_[i - 1].owner) {
        objects = nb::list();
        found.append(nb::make_tuple(first_[i].owner, objects));
      }
      objects.append(nb::borrow(first_[i].object));
    }
    return found;
  }

  // (numbers of values, bytes) of each group that may go to another process.
  [[nodiscard]] std::vector<std::pair<std::vector<std::size_t>, std::size_t>> found() const {
    std::map<std::size_t, std::pair<std::vector<std::size_t>, std::size_t>> groups;
    std::vector<bool> refused(parents_.size());
    for (std::size_t i = 0; i < parents_.size(); ++i) {
      if (is_other_[i]) refused[root(i)] = true;
    }
    for (std::size_t i = 0; i < parents_.size(); ++i) {
      if (refused[root(i)]) continue;
      auto& [values, bytes] = groups[root(i)];
      values.push_back(i);
      bytes += sizes_[i];
    }
    std::vector<std::pair<std::vector<std::size_t>, std::size_t>> all;
    all.reserve(groups.size());
    for (auto& [root, group] : groups) all.push_back(std::move(group));
    return all;
  }

  // The objects that had these addresses (native u64) in a forked child which took `values` apart,
  // and one byte for each: 1 where it was made on the way and is `nowhere`. Raises ValueError for
  // an object of another group.
  [[nodiscard]] nb::tuple resolve(const nb::bytes& ids, const std::vector<std::size_t>& values,
                                  const nb::object& nowhere) const {
    const std::vector<bool> ours = roots_of(values);
    const std::size_t count = ids.size() / sizeof(std::uint64_t);
    nb::list objects = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(count)));
    std::vector<char> made(count);
    if (!objects.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t id = 0;
      std::memcpy(&id, ids.c_str() + i * sizeof id, sizeof id);
      const std::uint32_t number = table_.find(static_cast<std::uintptr_t>(id));
      made[i] = static_cast<char>(number == IdentityTable::kNone);
      PyObject* object = nowhere.ptr();
      if (made[i] == 0) {
        object = met_[number].object;
        const int owner = met_[number].owner;
        if (owner != kNobody && !ours[root(static_cast<std::size_t>(owner))]) {
          throw nb::value_error("two groups share an object");
        }
      }
      PyList_SET_ITEM(objects.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(object));
    }
    return nb::make_tuple(objects, nb::bytes(made.data(), made.size()));
  }

  // Whether one of these, from `begin` on, is in the groups of `values`.
  [[nodiscard]] bool touches(const nb::list& objects, std::size_t begin,
                             const std::vector<std::size_t>& values) const {
    const std::vector<bool> theirs = roots_of(values);
    for (std::size_t i = begin; i < objects.size(); ++i) {
      PyObject* object = PyList_GET_ITEM(objects.ptr(), static_cast<Py_ssize_t>(i));
      const std::uint32_t number = table_.find(reinterpret_cast<std::uintptr_t>(object));
      if (number == IdentityTable::kNone || met_[number].owner == kNobody) continue;
      if (theirs[root(static_cast<std::size_t>(met_[number].owner))]) return true;
    }
    return false;
  }

 private:
  struct Met {
    PyObject* object;
    int owner;  // the value that reached it first
  };

  Groups(std::size_t values, nb::callable way_of_type, nb::callable ask)
      : way_of_type_(std::move(way_of_type)),
        ask_(std::move(ask)),
        parents_(values),
        sizes_(values),
        is_other_(values) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
    for (PyTypeObject* type :
         {&PyLong_Type, &PyFloat_Type, &PyBool_Type, &PyComplex_Type, Py_TYPE(Py_None)}) {
      ways_[type] = Way::kNothing;
    }
  }

  [[nodiscard]] std::vector<bool> roots_of(const std::vector<std::size_t>& values) const {
    std::vector<bool> found(parents_.size());
    for (const std::size_t value : values) found.at(root(value)) = true;
    return found;
  }

  [[nodiscard]] std::size_t root(std::size_t value) const {
    while (parents_.at(value) != value) value = parents_[value];
    return value;
  }

  void unite(std::size_t one, std::size_t other) {
    one = root(one);
    other = root(other);
    parents_[one] = other;
  }

  // True: known, or done. False: Python code must be asked about it.
  bool meet_quickly(PyObject* object) {
    const PyTypeObject* type = Py_TYPE(object);
    if (type == &PyLong_Type || type == &PyFloat_Type || object == Py_None) {
      sizes_[static_cast<std::size_t>(owner_)] += size_of(object);
      return true;
    }
    if (type == &PyUnicode_Type || type == &PyBytes_Type) {
      const std::size_t size = size_of(object);
      add(object, size < kLongBytes ? kNobody : owner_, size);
      return true;
    }
    if (type == &PyList_Type || type == &PyDict_Type || type == &PyTuple_Type) {
      if (add(object, owner_, size_of(object))) pending_.emplace_back(object, false);
      return true;
    }
    const auto way = ways_.find(Py_TYPE(object));
    const bool known = way != ways_.end() && way->second != Way::kAsk;
    if (known) take(object, way->second, size_of(object));
    return known || is_known(object);
  }

  bool is_known(PyObject* object) {
    const std::uint32_t number = table_.find(reinterpret_cast<std::uintptr_t>(object));
    if (number == IdentityTable::kNone) return false;
    meet_again(met_[number].owner);
    return true;
  }

  void meet_again(int owner) {
    if (owner == kNobody || owner == owner_) return;
    unite(static_cast<std::size_t>(owner_), static_cast<std::size_t>(owner));
  }

  // False: it was there.
  bool add(PyObject* object, int owner, std::size_t size) {
    const std::uint32_t number = table_.find_or_put(reinterpret_cast<std::uintptr_t>(object));
    if (number != IdentityTable::kNone) {
      meet_again(met_[number].owner);
      return false;
    }
    met_.push_back({Py_NewRef(object), owner});
    sizes_[static_cast<std::size_t>(owner_)] += size;
    return true;
  }

  void take(PyObject* object, Way way, std::size_t size) {
    switch (way) {
      case Way::kNothing:
        sizes_[static_cast<std::size_t>(owner_)] += size;
        return;
      case Way::kAtom:
        add(object, kNobody, size);
        return;
      case Way::kFirst:
        // Of what may not go at all: its type, say.
        if (!in_other_ && add(object, kNobody, 0)) first_.push_back({object, owner_});
        return;
      default:
        break;
    }
    if (!add(object, owner_, size)) return;
    if (way == Way::kOther) is_other_[static_cast<std::size_t>(owner_)] = true;
    pending_.emplace_back(object, way == Way::kOther);
  }

  // Runs Python code: the caller holds the object.
  void meet(PyObject* object) {
    if (meet_quickly(object)) return;
    const auto known = ways_.find(Py_TYPE(object));
    Way way = known == ways_.end() ? Way::kAsk : known->second;
    if (known == ways_.end()) {
      way = static_cast<Way>(
          nb::cast<int>(way_of_type_(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object))))));
      types_.append(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object))));
      ways_[Py_TYPE(object)] = way;
    }
    std::size_t size = size_of(object);
    if (way == Way::kAsk) {
      const auto [told, bytes] = nb::cast<std::pair<int, std::size_t>>(ask_(nb::handle(object)));
      way = static_cast<Way>(told);
      size = bytes;
    }
    take(object, way, size);
  }

  // Below the interpreter's own frames: nothing may be thrown.
  static int visit(PyObject* object, void* arg) noexcept {
    auto& self = *static_cast<Groups*>(arg);
    try {
      // No Python code while the object is traversed: that could change it.
      if (!self.meet_quickly(object)) {
        self.unsure_.push_back(object);
        Py_INCREF(object);
      }
      return 0;
    } catch (const std::exception&) {
      return -1;
    }
  }

  void walk() {
    while (!pending_.empty()) {
      const auto [object, is_other] = pending_.back();
      in_other_ = is_other;
      pending_.pop_back();
      if (const traverseproc traverse = Py_TYPE(object)->tp_traverse; traverse != nullptr) {
        if (traverse(object, &Groups::visit, this) != 0) throw std::bad_alloc();
      }
      while (!unsure_.empty()) {
        const nb::object one = nb::steal(unsure_.back());
        unsure_.pop_back();
        meet(one.ptr());
      }
      constexpr std::size_t kOften = std::size_t{1} << 20U;
      if (++walked_ % kOften == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

  nb::callable way_of_type_;
  nb::callable ask_;
  std::vector<std::size_t> parents_;  // union-find over the values
  std::vector<std::size_t> sizes_;
  std::vector<bool> is_other_;
  std::unordered_map<PyTypeObject*, Way> ways_;
  nb::list types_;  // keeps them alive
  IdentityTable table_;
  std::vector<Met> met_;  // by the table's number
  std::vector<Met> first_;
  std::vector<std::pair<PyObject*, bool>> pending_;  // and whether it is kOther; met_ owns them
  std::vector<PyObject*> unsure_;
  std::size_t walked_ = 0;
  int owner_ = kNobody;
  bool in_other_ = false;  // what is walked
};

}  // namespace

void add_groups(nb::module_& module) {
  nb::class_<Groups>(module, "Groups")
      .def(nb::init<const nb::list&, const nb::list&, nb::callable, nb::callable>(), "values"_a,
           "ends"_a, "way_of_type"_a, "ask"_a)
      .def_prop_ro("first", &Groups::first)
      .def_prop_ro("found", &Groups::found)
      .def("resolve", &Groups::resolve, "ids"_a, "values"_a, "nowhere"_a)
      .def("touches", &Groups::touches, "objects"_a, "begin"_a, "values"_a);
}

}  // namespace bind
