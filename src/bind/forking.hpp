#pragma once
// A short-lived copy of this process that works for it, and that no user sees or can interrupt.

#include <nanobind/nanobind.h>

namespace bind {

void add_forking(nanobind::module_& module);

}  // namespace bind
