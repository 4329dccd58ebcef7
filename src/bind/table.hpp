#pragma once
// Samples of chosen cells as Python sees them: columns are handed to NumPy without a copy.

#include <nanobind/nanobind.h>

#include "store/table.hpp"
#include "view/table_text.hpp"

namespace bind {

struct Table {
  store::Table samples;
  view::TableHead head;
};

// With what only a table of these cells can say; `sources` is the code of each.
Table make_table(const store::Recording& recording, const std::vector<store::Group>& groups,
                 const std::vector<store::Cell>& cells, std::vector<std::string> sources,
                 const std::string& level);

void add_table(nanobind::module_& module);

}  // namespace bind
