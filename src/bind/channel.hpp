#pragma once
// The engine's channel and its meeting place as Python sees them.

#include <nanobind/nanobind.h>

namespace bind {

void add_channel(nanobind::module_& module);

}  // namespace bind
