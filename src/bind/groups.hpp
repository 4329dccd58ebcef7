#pragma once
// Which values of a namespace share no object with each other, so that several processes may take
// them apart at once.

#include <nanobind/nanobind.h>

namespace bind {

void add_groups(nanobind::module_& module);

}  // namespace bind
