#include "store/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.hpp"
#include "record/text.hpp"
#include "store/cell_span.hpp"
#include "store/gap_table.hpp"
#include "store/reasons.hpp"
#include "store/table_rows.hpp"

namespace store {
namespace {

constexpr std::array<std::string_view, 4> kLevels{"process", "user", "job", "node"};
constexpr std::size_t kMostGapTextBytes = 160;

void add_gaps(const Recording& recording, const Cell& cell, const CellSpan& span, Table& table) {
  for (const record::Gap& gap : recording.gaps()) {
    if (gap.begin_ns >= span.end.time_ns || gap.end_ns <= span.begin.time_ns) continue;
    std::string reason(record::gap_reason_text(gap.reason));
    if (!gap.text.empty()) reason += ": " + gap.text.substr(0, kMostGapTextBytes);
    table.gaps.push_back(
        {cell.begin.index, recording.wall_ns(std::max(gap.begin_ns, span.begin.time_ns)),
         recording.wall_ns(std::min(gap.end_ns, span.end.time_ns)), std::move(reason)});
  }
}

// The time that the reasons are about.
struct Asked {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = 0;
};

void add_missing(const Recording& recording, const Asked& asked, const TableRows& rows,
                 Table& table) {
  const Reasons reasons(recording, asked.begin_ns, asked.end_ns);
  std::set<std::string, std::less<>> known;
  for (const TableRows::Recorded& one : rows.recorded()) {
    known.insert(one.full_name);
    const TableColumn& column = table.columns[one.column];
    if (one.unknown_rows > 0) {
      table.missing.push_back({column.name, one.unknown_rows,
                               reasons.why(one.level(), one.metric(), one.first_unknown)});
    }
    if (one.rate.form == DerivedRate::Form::kNone || one.unknown_rows == table.rows) continue;
    const TableColumn& rate = table.columns[one.column + 1];
    if (std::ranges::any_of(rate.rates, [](double value) { return value >= 0; })) continue;
    const bool capacity = one.rate.form == DerivedRate::Form::kCapacityPercent && one.no_capacity;
    table.missing.push_back({rate.name, table.rows,
                             capacity ? "not yet: the capacity is not known"
                                      : "not yet: no two samples in one cell tell a rate"});
  }
  for (const auto level : kLevels) {
    if (table.level != "all" && table.level != level) continue;
    for (const std::string& metric : reasons.missing_of(level)) {
      const std::string name = fmt::format("{}.{}", level, metric);
      if (!known.insert(name).second) continue;
      constexpr record::Value kNone = record::unknown(record::State::kNotSupported);
      table.missing.push_back(
          {table.level == "all" ? name : metric, table.rows, reasons.why(level, metric, kNone)});
    }
  }
}

}  // namespace

Table table_of(const Recording& recording, const std::vector<Cell>& cells, std::string_view level) {
  Table table;
  table.level = level;
  const bool groups = std::ranges::any_of(cells, [](const Cell& cell) { return cell.group > 0; });
  TableRows rows(recording, table, groups);
  Asked asked;
  for (const Cell& cell : cells) {
    const CellSpan span = span_of(recording, cell);
    const GapTable gaps(recording, span.first_row_ns(), span.last_row_ns());
    rows.add_cell(cell, span, gaps);
    add_gaps(recording, cell, span, table);
    asked.begin_ns = std::min(asked.begin_ns, span.first_row_ns());
    asked.end_ns = std::max(asked.end_ns, span.told_ns());
  }
  add_missing(recording, asked, rows, table);
  return table;
}

}  // namespace store
