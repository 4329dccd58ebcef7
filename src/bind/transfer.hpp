#pragma once
// Segments as Python sees them: buffers are taken and given without a copy.

#include <nanobind/nanobind.h>

namespace bind {

void add_transfer(nanobind::module_& module);

}  // namespace bind
