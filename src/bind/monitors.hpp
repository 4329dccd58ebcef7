#pragma once
// Custom monitors of a session: add_monitor, remove_monitor, monitors.

#include <nanobind/nanobind.h>

namespace bind {

void add_monitors(nanobind::module_& module);

}  // namespace bind
