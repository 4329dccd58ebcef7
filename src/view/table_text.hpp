#pragma once
// A table of samples as files that other programs read. UTF-8; what is unknown is null, or empty.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/summary.hpp"
#include "store/table.hpp"

namespace view {

struct TableCell {
  store::CellSummary summary;
  std::string source;
};

// What the rows can't say.
struct TableHead {
  std::string label, host;
  std::vector<TableCell> cells;
  std::vector<store::Group> groups = {};  // that any of them is in
};

// Takes the text piece by piece, some 64 KiB each; what it throws ends the writing.
using Sink = std::function<void(std::string_view)>;

// {"version": 1, "columns": […], "cells": […], "gaps": […], "missing": […], …} on one line:
// everything but the rows (docs/export.md).
std::string table_head_json(const store::Table& table, const TableHead& head);

// The same object with the rows as "data": {"<column>": [numbers and nulls]}.
void write_table_json(const store::Table& table, const TableHead& head, const Sink& sink);

// RFC 4180: a header, then a line for each row.
void write_table_csv(const store::Table& table, const Sink& sink);

}  // namespace view
