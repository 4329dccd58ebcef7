#pragma once
// Fills a table, row by row; only for table.cpp.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "record/records.hpp"
#include "record/rows.hpp"
#include "store/cell_span.hpp"
#include "store/gap_table.hpp"
#include "store/rates.hpp"
#include "store/table.hpp"
#include "store/table_columns.hpp"

namespace store {

class TableRows {
 public:
  // A recorded column, which its rate stands behind.
  struct Recorded {
    std::string full_name;  // "<level>.<metric>"
    std::size_t column = 0;
    DerivedRate rate;
    std::size_t unknown_rows = 0;
    record::Value first_unknown = 0;
    bool no_capacity = false;  // in the newest row
    bool real = false;         // of a custom monitor

    [[nodiscard]] std::string_view level() const noexcept;
    [[nodiscard]] std::string_view metric() const noexcept;
    [[nodiscard]] RateRule rule() const noexcept;
  };

  // Both must outlive it. Puts the keys into the table; `groups`: with one for a cell's group.
  TableRows(const Recording& recording, Table& table, bool groups);

  // Throws base::Error when the table would be too large.
  void add_cell(const Cell& cell, const CellSpan& span, const GapTable& gaps);

  [[nodiscard]] const std::vector<Recorded>& recorded() const noexcept { return recorded_; }

 private:
  struct Place {  // of a recorded column in the schema at hand
    std::size_t in_schema = 0;
    std::size_t recorded = 0;
  };
  struct Rising {  // a counter of the cell at hand
    RateIntervals intervals;
    std::size_t next_row = 0;  // that has no rate yet
  };

  void look_up(const std::shared_ptr<const record::Schema>& schema);
  std::optional<std::size_t> add_column(const record::Column& column, std::string_view name);
  void add_row(const Cell& cell, const CellSpan& span, const GapTable& gaps,
               const record::Rows& rows, std::size_t row);
  void put(Recorded& one, record::Value value);
  // In the level's cores as the row has them, else as the machine has.
  [[nodiscard]] double capacity_of(const Recorded& one, const record::Rows& rows,
                                   std::size_t row) const;
  void put_rate(const Recorded& one, Rising& rising, const std::optional<RateInterval>& interval);

  const Recording& recording_;
  Table& table_;
  std::vector<Recorded> recorded_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::set<std::string, std::less<>> names_;  // of the table's columns
  std::shared_ptr<const record::Schema> schema_;
  std::vector<Place> places_;
  std::map<std::string, std::size_t, std::less<>> capacities_;  // of a level: its place in schema_
  std::map<std::string, double, std::less<>> cores_;            // of a level, in the cell at hand
  std::vector<Rising> rising_;                                  // as recorded_
  std::vector<std::int64_t> times_ns_;                          // of the cell's rows
  std::size_t keys_ = 0;
  std::size_t first_row_ = 0;  // of the cell
};

}  // namespace store
