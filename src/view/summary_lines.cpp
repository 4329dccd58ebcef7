#include "view/summary_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "record/text.hpp"
#include "view/escape.hpp"
#include "view/other_lines.hpp"
#include "view/units.hpp"

namespace view {
namespace {

using store::CellSummary;
using store::LevelSummary;

constexpr std::size_t kMostGapsShown = 2;
constexpr std::size_t kMostNotesShown = 3;
constexpr std::size_t kMostReason = 90;
constexpr std::size_t kMostCause = 180;  // of a death: with peak, limit and whose limit it was
constexpr std::string_view kSeparator = " · ";

std::string join(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, kSeparator));
}

// One level's lines.
class LevelLines {
 public:
  LevelLines(const CellSummary& summary, const LevelSummary& level)
      : summary_(summary), level_(level), bound_(is_lower_bound(level.name)) {}

  [[nodiscard]] std::vector<SummaryLine> lines() const {
    std::vector<SummaryLine> lines{cpu(), memory(), io()};
    if (level_.processes_max.value_or(0) > 1) lines.push_back(tree());
    return lines;
  }

 private:
  [[nodiscard]] bool is_lower_bound(const std::string& key) const {
    const auto note = summary_.notes.find(key);
    return note != summary_.notes.end();
  }
  // "≥ " before a figure that may be too small.
  [[nodiscard]] std::string_view at_least(std::string_view metric) const {
    return bound_ || is_lower_bound(level_.name + '.' + std::string(metric)) ? "≥ " : "";
  }
  [[nodiscard]] std::string why(std::string_view metric) const {
    const auto reason = summary_.unknown.find(level_.name + '.' + std::string(metric));
    if (reason == summary_.unknown.end()) return "unknown";
    return one_line(reason->second, kMostReason);
  }
  // The state's words alone: "not supported".
  [[nodiscard]] std::string state(std::string_view metric) const {
    const std::string reason = why(metric);
    return reason.substr(0, reason.find(':'));
  }

  [[nodiscard]] SummaryLine cpu() const {
    SummaryLine line{"CPU", "", std::nullopt};
    const store::Statistics& percent = level_.cpu_percent;
    std::vector<std::string> parts;
    if (percent.mean && level_.capacity_cores) {
      line.bar = *percent.mean / 100;
      // At other levels the mean is one of the time that the samples have seen.
      std::string text =
          fmt::format("{}{} of {}", level_.name == "process" ? at_least("cpu_time_s") : "",
                      percent_text(*percent.mean), cores_text(*level_.capacity_cores));
      if (percent.max && percent.min) {
        text += fmt::format(" (max {:.0f}, min {:.0f})", rounded_percent(*percent.max),
                            rounded_percent(*percent.min));
      }
      parts.push_back(std::move(text));
    }
    if (level_.cpu_time_s) {
      parts.push_back(
          fmt::format("{}{} CPU time", at_least("cpu_time_s"), seconds_text(*level_.cpu_time_s)));
    }
    line.text = parts.empty() ? why("cpu_time_s") : join(parts);
    return line;
  }

  [[nodiscard]] SummaryLine memory() const {
    SummaryLine line{"memory", "", std::nullopt};
    const store::MemoryStatistics& memory = level_.memory_bytes;
    std::vector<std::string> parts;
    if (memory.mean) parts.push_back("mean " + bytes_text(*memory.mean));
    if (memory.max) parts.push_back("max " + bytes_text(*memory.max));
    if (memory.peak) {
      parts.push_back(fmt::format("peak {}{}", memory.peak_lower_bound ? "≥ " : "",
                                  bytes_text(static_cast<double>(*memory.peak))));
    }
    if (parts.empty()) {
      line.text = why("memory_bytes");
      return line;
    }
    line.text = join(parts);
    if (level_.capacity_memory_bytes.value_or(0) > 0) {
      const auto capacity = static_cast<double>(*level_.capacity_memory_bytes);
      line.text += " of " + bytes_text(capacity);
      line.bar = memory.max.value_or(memory.mean.value_or(0)) / capacity;
    }
    if (memory.upper_bound) line.text += " (shared pages counted more than once)";
    return line;
  }

  // "12.0 MiB read, 3.10 GiB written", or why not.
  [[nodiscard]] std::string traffic(std::string_view metric, std::optional<std::int64_t> read,
                                    std::optional<std::int64_t> written) const {
    const std::string reads = fmt::format("{}_read_bytes", metric);
    const std::string writes = fmt::format("{}_write_bytes", metric);
    if (!read && !written) return state(reads);
    const auto one = [this](const std::string& key, std::optional<std::int64_t> bytes) {
      if (!bytes) return state(key);
      return std::string(at_least(key)) + bytes_text(static_cast<double>(*bytes));
    };
    return fmt::format("{} read, {} written", one(reads, read), one(writes, written));
  }

  [[nodiscard]] SummaryLine io() const {
    return {"I/O",
            join({traffic("io", level_.io_read_bytes, level_.io_write_bytes),
                  "storage " +
                      traffic("storage", level_.storage_read_bytes, level_.storage_write_bytes)}),
            std::nullopt};
  }

  [[nodiscard]] SummaryLine tree() const {
    std::string text = fmt::format("at most {} processes", *level_.processes_max);
    if (level_.threads_max) text += fmt::format(", {} threads", *level_.threads_max);
    return {level_.name == "process" ? "tree" : level_.name, std::move(text), std::nullopt};
  }

  const CellSummary& summary_;
  const LevelSummary& level_;
  bool bound_;
};

void add_gaps(const CellSummary& summary, std::vector<SummaryLine>& lines) {
  if (summary.gaps.size() > kMostGapsShown) {
    double seconds = 0;
    for (const store::GapSummary& gap : summary.gaps) seconds += gap.end_s - gap.begin_s;
    lines.push_back(
        {"gaps",
         fmt::format("{} without samples, {} in all, the first: {}", summary.gaps.size(),
                     seconds_text(seconds), one_line(summary.gaps.front().reason, kMostReason)),
         std::nullopt, true});
    return;
  }
  for (const store::GapSummary& gap : summary.gaps) {
    lines.push_back({"gap",
                     fmt::format("no samples from {:.2f} to {:.2f} s: {}", gap.begin_s, gap.end_s,
                                 one_line(gap.reason, kMostReason)),
                     std::nullopt, true});
  }
}

void add_engine(const record::EngineTimes& engine, std::vector<SummaryLine>& lines) {
  if (!engine.any()) return;
  std::string text;
  const auto add = [&](std::string_view what, record::Value value) {
    if (!record::is_known(value)) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : kSeparator, what,
                        seconds_text(static_cast<double>(value) / 1e9));
  };
  add("started in", engine.start_ns);
  add("variables carried in", engine.carry_ns);
  add("and back in", engine.return_ns);
  lines.push_back({"engine", text, std::nullopt});
}

// A group's cells, as many as a line has room for.
void add_cells(const store::GroupSummary& group, std::vector<SummaryLine>& lines) {
  constexpr std::size_t kMostCells = 8;
  std::vector<std::string> parts;
  for (const store::GroupCell& cell : group.cells) {
    if (parts.size() == kMostCells) {
      parts.push_back(fmt::format("{} more", group.cells.size() - kMostCells));
      break;
    }
    const std::string name = cell.execution_count ? fmt::format("In [{}]", *cell.execution_count)
                                                  : fmt::format("#{}", cell.index);
    const bool is_ok = cell.running || cell.outcome == record::Outcome::kOk;
    parts.push_back(fmt::format("{} {}{}{}", name, seconds_text(cell.duration_s), is_ok ? "" : ", ",
                                is_ok ? "" : record::outcome_word(cell.outcome)));
  }
  if (!parts.empty()) lines.push_back({"cells", join(parts), std::nullopt});
}

// Each reason once, whatever number of figures it is about.
void add_notes(const CellSummary& summary, const std::vector<std::string>& levels,
               std::vector<SummaryLine>& lines) {
  std::vector<std::string> texts;
  for (const auto& [key, text] : summary.notes) {
    if (std::find(levels.begin(), levels.end(), key.substr(0, key.find('.'))) == levels.end()) {
      continue;
    }
    std::string line = "≥: " + one_line(text, kMostReason);
    if (std::find(texts.begin(), texts.end(), line) == texts.end()) texts.push_back(line);
  }
  for (std::size_t i = 0; i < std::min(texts.size(), kMostNotesShown); ++i) {
    lines.push_back({"note", texts[i], std::nullopt, true});
  }
  if (!summary.rate_note.empty()) {
    lines.push_back({"note", one_line(summary.rate_note, kMostReason), std::nullopt, true});
  }
  if (summary.sample_age_s) {
    lines.push_back({"note",
                     fmt::format("the last sample is {} older than the end of the cell",
                                 seconds_text(*summary.sample_age_s)),
                     std::nullopt, true});
  }
}

}  // namespace

std::string summary_title(const CellSummary& summary) {
  std::string title = summary.group             ? one_line(summary.group->title, kMostReason)
                      : summary.execution_count ? fmt::format("In [{}]", *summary.execution_count)
                                                : fmt::format("#{}", summary.index);
  title += fmt::format("{}{}{}", kSeparator,
                       summary.running && summary.group ? "open, so far "
                       : summary.running                ? "running for "
                                                        : "",
                       seconds_text(summary.duration_s));
  if (summary.group) {
    const std::size_t count = summary.group->cells.size();
    title += fmt::format("{}{} cell{}", kSeparator, count, count == 1 ? "" : "s");
  }
  if (summary.running || summary.outcome == record::Outcome::kOk) return title;
  title += kSeparator;
  title += record::outcome_word(summary.outcome);
  if (!summary.outcome_text.empty()) {
    title += fmt::format(" ({})", one_line(summary.outcome_text, kMostCause));
  }
  return title;
}

std::vector<SummaryLine> summary_lines(const CellSummary& summary, const std::string& level) {
  std::vector<SummaryLine> lines;
  std::vector<std::string> shown;
  for (const LevelSummary& one : summary.levels) {
    if (!level.empty() && one.name != level) continue;
    shown.push_back(one.name);
    if (one.name != "process" || (level.empty() && summary.levels.size() > 1)) {
      lines.push_back({"", "level " + one.name, std::nullopt});
    }
    if (!one.why_absent.empty()) {
      lines.push_back({one.name, one_line(one.why_absent, kMostReason), std::nullopt});
      continue;
    }
    for (SummaryLine& line : LevelLines(summary, one).lines()) lines.push_back(std::move(line));
    for (SummaryLine& line : other_lines(summary, one)) lines.push_back(std::move(line));
  }
  if (shown.empty()) {
    lines.push_back({"note",
                     fmt::format("nothing was measured at level {}",
                                 level.empty() ? "process" : one_line(level, 40)),
                     std::nullopt, true});
  }
  if (summary.group) add_cells(*summary.group, lines);
  add_engine(summary.engine, lines);
  add_gaps(summary, lines);
  add_notes(summary, shown, lines);
  return lines;
}

}  // namespace view
