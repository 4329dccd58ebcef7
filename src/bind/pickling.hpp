#pragma once
// What the pickler and unpickler of C know, and how they are answered quickly.

#include <nanobind/nanobind.h>

namespace bind {

void add_pickling(nanobind::module_& module);

}  // namespace bind
