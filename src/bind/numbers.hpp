#pragma once
// Numbers of objects by their identity: what a pickler asks for each object that it meets.

#include <nanobind/nanobind.h>

namespace bind {

void add_numbers(nanobind::module_& module);

}  // namespace bind
