#pragma once
// Everything a recording measures beyond the figures that every level has (frame.hpp): whatever
// columns there are, by their names. Counters give what they gained in the cell, gauges their
// statistics.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "record/records.hpp"
#include "record/rows.hpp"
#include "store/gap_table.hpp"
#include "store/reasons.hpp"
#include "store/series.hpp"
#include "store/summary.hpp"

namespace store {

class OtherMetrics {
 public:
  explicit OtherMetrics(const GapTable& gaps) noexcept : gaps_(gaps) {}

  // Rows in order of time, from the sample at the cell's begin to the one at its end.
  void add(const std::shared_ptr<const record::Schema>& schema, const record::Rows& rows,
           std::size_t row);

  // Into the levels of the summary that are there; what is unknown goes to summary.unknown.
  void put_into(CellSummary& summary, const Reasons& reasons) const;

 private:
  struct Track {
    record::Kind kind;
    GaugeSeries series;
    RealSeries real_series;
    bool real = false;  // then only real_series is filled, and `last` says why there is none
    std::string unit{};
    record::Value last =
        record::unknown(record::State::kNotYet);  // the last known one, or why none
    std::int64_t gain = 0;
    std::int64_t samples = 0;  // with a known value
  };
  void put_real(const std::string& name, const Track& track, const Reasons& reasons,
                LevelSummary& level, CellSummary& summary) const;
  void look_up(const std::shared_ptr<const record::Schema>& schema);
  static void add(Track& track, std::int64_t time_ns, record::Value value);

  const GapTable& gaps_;
  std::map<std::string, Track, std::less<>> tracks_;  // "<level>.<metric>"
  std::shared_ptr<const record::Schema> schema_;
  struct Place {
    std::size_t column;
    Track* track;
  };
  std::vector<Place> places_;  // in schema_
};

}  // namespace store
