#pragma once
// What can't be measured here, or not fully, and why: said once per name.

#include <string_view>
#include <vector>

#include "record/records.hpp"

namespace probe {

class MissingList {
 public:
  MissingList();

  // The first time for `name` (record::Missing::name) wins; later ones are nothing. A state of
  // kMeasured with a reason that begins "lower bound: " is a value that may be too small.
  // Allocates the first time only.
  void say(std::string_view name, record::State state, std::string_view reason) noexcept;

  [[nodiscard]] const std::vector<record::Missing>& list() const noexcept { return list_; }

 private:
  std::vector<record::Missing> list_;
};

}  // namespace probe
