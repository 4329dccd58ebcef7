#include "view/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/clock.hpp"
#include "record/text.hpp"
#include "store/group_summary.hpp"
#include "view/escape.hpp"
#include "view/units.hpp"

namespace view {
namespace {

constexpr std::string_view kNone = "no cell has been measured yet";
constexpr std::string_view kUnknown = "–";
constexpr std::size_t kCodeColumns = 60;
constexpr std::size_t kColumns = 10;
constexpr std::array<std::string_view, kColumns> kHeaders{
    "#", "In", "begin", "duration", "CPU", "peak", "I/O read, written", "GPU", "outcome", "code"};
constexpr std::size_t kFirstRightAligned = 3;  // duration, CPU, peak, I/O, GPU
constexpr std::size_t kLastRightAligned = 7;
constexpr std::size_t kGpu = 7;

using Fields = std::array<std::string, kColumns>;

struct Table {
  std::vector<Fields> rows;  // the first one has the headers
  std::vector<std::size_t> columns;
};

std::string traffic(const store::LevelSummary& level) {
  if (!level.io_read_bytes || !level.io_write_bytes) return std::string(kUnknown);
  return fmt::format("{}, {}", bytes_text(static_cast<double>(*level.io_read_bytes)),
                     bytes_text(static_cast<double>(*level.io_write_bytes)));
}

// The day of a local time: "2026-11-29".
std::string day_of(const HistoryRow& row) {
  return base::local_time(row.summary.begin_wall_ns).substr(0, 10);
}

bool all_on_one_day(const std::vector<HistoryRow>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const HistoryRow& row) { return day_of(row) == day_of(rows.front()); });
}

Fields fields_of(const HistoryRow& row, bool with_day) {
  const store::CellSummary& summary = row.summary;
  Fields fields;
  fields.fill(std::string(kUnknown));
  fields[0] = summary.group ? fmt::format("g{}", summary.group->index)
                            : fmt::format("{}#{}", row.group.empty() ? "" : "· ", summary.index);
  if (summary.execution_count) fields[1] = fmt::format("In [{}]", *summary.execution_count);
  fields[2] = base::local_time(summary.begin_wall_ns).substr(with_day ? 0 : 11);
  fields[3] = seconds_text(summary.duration_s);
  if (const store::LevelSummary* process = summary.level("process")) {
    if (process->cpu_percent.mean) fields[4] = percent_text(*process->cpu_percent.mean);
    if (process->memory_bytes.peak) {
      fields[5] = bytes_text(static_cast<double>(*process->memory_bytes.peak));
    }
    fields[6] = traffic(*process);
  }
  if (const auto percent = gpu_percent(summary)) fields[kGpu] = percent_text(*percent);
  fields[8] = summary.running ? "running" : std::string(record::outcome_word(summary.outcome));
  fields[9] = one_line(first_line(row.source), kCodeColumns);
  return fields;
}

bool is_right_aligned(std::size_t column) noexcept {
  return column >= kFirstRightAligned && column <= kLastRightAligned;
}

Table table_of(const std::vector<HistoryRow>& rows) {
  Table table;
  std::ranges::copy(kHeaders, table.rows.emplace_back().begin());
  const bool with_day = !all_on_one_day(rows);
  for (const HistoryRow& row : rows) table.rows.push_back(fields_of(row, with_day));
  const bool has_gpu = std::ranges::any_of(
      rows, [](const HistoryRow& row) { return gpu_percent(row.summary).has_value(); });
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (i != kGpu || has_gpu) table.columns.push_back(i);
  }
  return table;
}

// Of a level: the busiest card's mean.
std::optional<double> gpu_percent_of(const store::LevelSummary* level) {
  std::optional<double> most;
  if (level == nullptr) return most;
  for (const auto& [name, metric] : level->others) {
    if (!name.ends_with(".utilization_percent") || !metric.values.mean) continue;
    most = std::max(*metric.values.mean, most.value_or(0));
  }
  return most;
}

}  // namespace

std::optional<double> gpu_percent(const store::CellSummary& summary) {
  const auto own = gpu_percent_of(summary.level("process"));
  return own ? own : gpu_percent_of(summary.level("node"));
}

std::vector<HistoryRow> history_rows(const store::Recording& recording,
                                     const std::vector<store::Group>& groups,
                                     const std::vector<store::Cell>& cells,
                                     const std::vector<std::string>& sources) {
  std::vector<HistoryRow> rows;
  rows.reserve(cells.size());
  std::int64_t last = 0;
  std::string title;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].group != last) {
      last = cells[i].group;
      title.clear();
      const auto group = std::ranges::lower_bound(groups, last, {}, &store::Group::index);
      if (group != groups.end() && group->index == last) {
        HistoryRow& row = rows.emplace_back();
        row.summary = store::summarize_group(recording, *group, store::cells_of(last, cells));
        title = row.summary.group->title;
        row.source = group->name;
      }
    }
    rows.push_back({store::summarize(recording, cells[i]), sources[i], title});
  }
  return rows;
}

std::string history_text(const std::vector<HistoryRow>& rows) {
  if (rows.empty()) return std::string(kNone);
  const Table table = table_of(rows);
  std::array<std::size_t, kColumns> widths{};
  for (const Fields& fields : table.rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], width(fields[i]));
  }
  std::string text;
  for (const Fields& fields : table.rows) {
    std::string line;
    for (const std::size_t i : table.columns) {
      const std::string spaces(widths[i] - width(fields[i]), ' ');
      if (i > 0) line += "  ";
      line += is_right_aligned(i) ? spaces + fields[i] : fields[i] + spaces;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    if (!text.empty()) text += '\n';
    text += line;
  }
  return text;
}

std::string history_html(const std::vector<HistoryRow>& rows) {
  if (rows.empty()) return fmt::format("<div>{}</div>", kNone);
  const auto cell = [](std::string_view tag, std::size_t column, std::string_view text) {
    // A narrow notebook scrolls; rows of several lines each would be no table any more. Code gives
    // way to the figures before that: it takes what is left, and is cut there.
    const std::string_view cut =
        column + 1 == kColumns
            ? ";width:99%;min-width:6em;max-width:0;overflow:hidden;text-overflow:ellipsis"
            : "";
    return fmt::format(
        "<{0} style=\"text-align:{1};padding:0 0.5em;white-space:nowrap{2}\">{3}</{0}>", tag,
        is_right_aligned(column) ? "right" : "left", cut, text);
  };
  // Notebooks break the lines of code themselves, whatever its cell says.
  constexpr std::string_view kCode = "<code style=\"white-space:nowrap\">";
  std::string html =
      "<table style=\"border-collapse:collapse;margin:0;table-layout:auto;width:100%\"><tr>";
  const Table table = table_of(rows);
  for (const std::size_t i : table.columns) html += cell("th", i, html_escaped(kHeaders[i]));
  html += "</tr>";
  for (const Fields& fields : std::span(table.rows).subspan(1)) {
    html += "<tr>";
    for (const std::size_t i : table.columns) {
      const std::string text = html_escaped(fields[i]);
      html += cell("td", i, i + 1 < kColumns ? text : fmt::format("{}{}</code>", kCode, text));
    }
    html += "</tr>";
  }
  return html + "</table>";
}

}  // namespace view
