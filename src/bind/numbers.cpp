#include "bind/numbers.hpp"

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "bind/identity_table.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace bind {
namespace {

class Numbers {
 public:
  explicit Numbers(const nb::list& objects) : table_(objects.size()) {
    for (const nb::handle object : objects) {
      table_.put(reinterpret_cast<std::uintptr_t>(object.ptr()));
    }
  }

  [[nodiscard]] std::optional<std::uint32_t> get(std::uintptr_t id) const {
    const std::uint32_t number = table_.find(id);
    if (number == IdentityTable::kNone || forgotten(number)) return std::nullopt;
    return number;
  }
  [[nodiscard]] bool contains(std::uintptr_t id) const { return get(id).has_value(); }

  [[nodiscard]] std::uint32_t at(std::uintptr_t id) const {
    const auto number = get(id);
    if (!number) throw nb::key_error("no object with this identity");
    return *number;
  }

  void discard(std::uintptr_t id) {
    const auto number = get(id);
    if (!number) return;
    if (forgotten_.empty()) forgotten_.resize(table_.size());
    forgotten_[*number] = true;
  }

 private:
  [[nodiscard]] bool forgotten(std::uint32_t number) const {
    return !forgotten_.empty() && forgotten_[number];
  }

  IdentityTable table_;
  std::vector<bool> forgotten_;
};

}  // namespace

void add_numbers(nb::module_& module) {
  nb::class_<Numbers>(module, "Numbers")
      .def(nb::init<const nb::list&>(), "objects"_a)
      .def("get", &Numbers::get, "id"_a)
      .def("__contains__", &Numbers::contains, "id"_a)
      .def("__getitem__", &Numbers::at, "id"_a)
      .def("discard", &Numbers::discard, "id"_a);
}

}  // namespace bind
