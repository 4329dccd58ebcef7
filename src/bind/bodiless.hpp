#pragma once
// An input transformer of IPython's that is one call of C: no interrupt comes in the middle.

#include <nanobind/nanobind.h>

namespace bind {

void add_bodiless(nanobind::module_& module);

}  // namespace bind
