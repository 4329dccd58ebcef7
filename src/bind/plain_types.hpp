#pragma once
// Which classes' instances are nothing but a `__dict__` and slots.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace bind {

struct PlainType {
  bool has_dict = false;
  std::vector<std::size_t> slots;  // where in an instance each lies; NULL: not set
};

// Types looked at so far; each is kept alive, so that no other one has its address.
class PlainTypes {
 public:
  // `decide` may be None; else it is called once for each type that may be one, and says whether it
  // is.
  explicit PlainTypes(nanobind::object decide);

  // Empty when instances of this type are more than that, or are pickled in a way of their own.
  // Throws what `decide` raises. The pointer stays valid.
  const PlainType* find(PyTypeObject* type);

  // For the garbage collector.
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  struct Known {
    nanobind::object type;
    bool plain = false;
    PlainType layout;
  };

  [[nodiscard]] bool decide(const nanobind::object& type) const;

  nanobind::object decide_;
  nanobind::object registered_;  // copyreg.dispatch_table
  std::unordered_map<PyTypeObject*, Known> known_;
  PyTypeObject* last_ = nullptr;
  const PlainType* last_found_ = nullptr;
};

}  // namespace bind
