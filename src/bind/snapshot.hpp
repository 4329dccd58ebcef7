#pragma once
// What mutable objects held at a moment, by identity: whoever carried a namespace asks later which
// of them hold something else. Runs none of the user's code: no ==, no hash, no attribute.

#include <nanobind/nanobind.h>

namespace bind {

void add_snapshot(nanobind::module_& module);

}  // namespace bind
