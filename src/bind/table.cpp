#include "bind/table.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <cmath>

#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"
#include "bind/words.hpp"
#include "record/text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace bind {
namespace {

constexpr std::size_t kMostLabelBytes = 4096;

const store::TableColumn& column_of(const Table& table, std::size_t place) {
  if (place >= table.samples.columns.size()) throw nb::index_error("there is no such column");
  return table.samples.columns[place];
}

// The array holds on to the table, whose numbers it shows.
template <typename Number>
nb::object array_of(std::vector<Number>& numbers, nb::handle owner) {
  using Array = nb::ndarray<nb::numpy, Number, nb::ndim<1>>;
  return nb::cast(Array(numbers.data(), {numbers.size()}, owner));
}

nb::object array(nb::handle self, std::size_t place) {
  auto& table = nb::cast<Table&>(self);
  column_of(table, place);
  store::TableColumn& column = table.samples.columns[place];
  return column.is_double() ? array_of(column.rates, self) : array_of(column.numbers, self);
}

nb::list values(const Table& table, std::size_t place) {
  const store::TableColumn& column = column_of(table, place);
  nb::list list;
  for (const double one : column.rates) {
    list.append(std::isfinite(one) ? nb::object(nb::float_(one)) : nb::object(nb::none()));
  }
  for (const std::int64_t one : column.numbers) {
    list.append(one != store::kNoNumber ? nb::object(nb::int_(one)) : nb::object(nb::none()));
  }
  return list;
}

view::Sink sink_to(int fd) {
  return [fd](std::string_view piece) {
    if (!base::write_all(fd, piece)) throw base::Error("cannot write", "the export", errno);
  };
}

}  // namespace

Table make_table(const store::Recording& recording, const std::vector<store::Group>& groups,
                 const std::vector<store::Cell>& cells, std::vector<std::string> sources,
                 const std::string& level) {
  Table table{store::table_of(recording, cells, level), {}};
  if (recording.machine()) {
    table.head.label = record::escaped(recording.machine()->label, kMostLabelBytes);
    table.head.host = record::escaped(recording.machine()->host, kMostLabelBytes);
  }
  for (const store::Group& group : groups) {
    if (std::ranges::find(cells, group.index, &store::Cell::group) == cells.end()) continue;
    table.head.groups.push_back(group);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    table.head.cells.push_back({store::summarize(recording, cells[i]), std::move(sources[i])});
  }
  return table;
}

void add_table(nb::module_& module) {
  using Released = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Table>(module, "Table")
      .def_prop_ro("rows", [](const Table& self) { return self.samples.rows; })
      .def_prop_ro("columns",
                   [](const Table& self) {
                     nb::list list;
                     for (const store::TableColumn& column : self.samples.columns) {
                       list.append(nb::make_tuple(text(column.name),
                                                  !column.is_double() && column.any_unknown));
                     }
                     return list;
                   })
      .def_prop_ro(
          "head",
          [](const Table& self) { return text(view::table_head_json(self.samples, self.head)); })
      .def("array", &array, "column"_a)
      .def("values", &values, "column"_a)
      .def(
          "write_csv",
          [](const Table& self, int fd) { view::write_table_csv(self.samples, sink_to(fd)); },
          "fd"_a, Released())
      .def(
          "write_json",
          [](const Table& self, int fd) {
            view::write_table_json(self.samples, self.head, sink_to(fd));
          },
          "fd"_a, Released());
  module.attr("NO_NUMBER") = store::kNoNumber;
}

}  // namespace bind
