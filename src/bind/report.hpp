#pragma once
// A recording of this or another kernel, opened by name for reading. No Python in here. One thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bind/plots.hpp"
#include "bind/session.hpp"
#include "store/recording.hpp"

namespace bind {

struct Ending {
  std::string kind;  // running, closed, exited, killed, out of memory, rebooted, unknown
  std::string text;
  std::int64_t wall_ns = 0;          // 0: unknown
  std::optional<std::int64_t> cell;  // the history entry that ran then
  std::string curve;                 // of memory before it, one line; "": there is none
};

class Report {
 public:
  explicit Report(const std::string& path);  // throws base::Error

  [[nodiscard]] bool has(std::int64_t index) const { return recording_.cell(index) != nullptr; }
  // Of a cell that there is; `level` as checked_level() gives it.
  [[nodiscard]] Rendered summary(std::int64_t index, const std::string& level) const;
  [[nodiscard]] std::optional<store::CellSummary> group_summary(std::int64_t index) const;
  [[nodiscard]] std::string code(std::int64_t index) const;

  [[nodiscard]] const store::Recording& recording() const noexcept { return recording_; }
  [[nodiscard]] std::string totals() const;  // of the whole recording, as a summary's JSON

  [[nodiscard]] History history() const;
  [[nodiscard]] Plot plot(const store::PlotRequest& request) const;
  [[nodiscard]] std::vector<CellInfo> cells() const;
  [[nodiscard]] Ending ending() const;
  [[nodiscard]] bool told() const { return recording_.told(); }
  [[nodiscard]] std::string label() const;  // without control characters

 private:
  store::Recording recording_;
};

}  // namespace bind
