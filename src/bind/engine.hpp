#pragma once
// The engine's process and the launcher's command as Python sees them.

#include <nanobind/nanobind.h>

namespace bind {

void add_engine(nanobind::module_& module);

}  // namespace bind
