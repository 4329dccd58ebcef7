#pragma once
// The samples of some cells as one table, a row for each sample and cell: what is exported.
//
// The first columns say which cell and when: cell_index, execution_count, time_unix_ns,
// since_cell_begin_ns. Then every column that was recorded of the level, counters as they stand
// there (since the begin of what they count), each with its rate behind it: cpu_percent (of the
// capacity, as in summaries), <name>_per_s, and for other times <name>_percent (of the time).
// A rate holds from the sample before to its row; the first row of a cell has none.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "store/recording.hpp"

namespace store {

inline constexpr std::int64_t kNoNumber = std::numeric_limits<std::int64_t>::min();  // unknown

struct TableColumn {
  enum class Kind : std::uint8_t { kKey, kCounter, kGauge, kRate };
  std::string name;  // "memory_bytes"; of all levels together "process.memory_bytes"
  std::string unit;  // "B", "ns", "B/s", "%"; "" for mere numbers
  Kind kind = Kind::kKey;
  std::vector<std::int64_t> numbers;  // of whole numbers; kNoNumber where unknown
  std::vector<double> rates;          // of the others; NaN where unknown
  bool any_unknown = false;
  bool real = false;  // of a custom monitor: its values are in `rates`

  [[nodiscard]] bool is_double() const noexcept { return real || kind == Kind::kRate; }
};

struct TableGap {
  std::int64_t cell_index = 0;
  std::int64_t begin_unix_ns = 0;  // within the cell
  std::int64_t end_unix_ns = 0;
  std::string reason;
};

// Why there is nothing, in all rows or in some.
struct TableMissing {
  std::string column;    // as in the table, or of what has no column
  std::size_t rows = 0;  // how many
  std::string reason;    // begins with the state: "not supported: …"
};

struct Table {
  std::string level;
  std::size_t rows = 0;
  std::vector<TableColumn> columns;
  std::vector<TableGap> gaps;
  std::vector<TableMissing> missing;  // not of rates, which follow from what they are rates of
};

// level: process, user, job, node, or all. Cells in the order in which their rows shall stand.
// Throws base::Error when there are more than Recording::kMostWindowValues values: ask for less.
Table table_of(const Recording& recording, const std::vector<Cell>& cells, std::string_view level);

}  // namespace store
