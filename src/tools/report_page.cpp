#include "tools/report_page.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "record/text.hpp"
#include "store/ending.hpp"
#include "store/summary.hpp"
#include "view/run_page.hpp"
#include "view/summary.hpp"
#include "view/units.hpp"

namespace tools {
namespace {

constexpr std::size_t kMostLabelBytes = 200;
constexpr std::size_t kMostRemarks = 100;  // of one kind
constexpr std::size_t kMostNamesBytes = 2000;
constexpr double kSecondsPerHour = 3600;

using Facts = std::vector<std::pair<std::string, std::string>>;

std::string cells_text(const std::vector<view::HistoryRow>& rows) {
  double seconds = 0;
  std::size_t failed = 0;
  std::size_t cells = 0;
  for (const view::HistoryRow& row : rows) {
    if (row.summary.group) continue;  // its cells are there, too
    ++cells;
    seconds += row.summary.duration_s;
    failed += !row.summary.running && row.summary.outcome != record::Outcome::kOk ? 1 : 0;
  }
  std::string text = fmt::format("{}, {} together", cells, view::seconds_text(seconds));
  if (failed > 0) text += fmt::format(", {} not ok", failed);
  return text;
}

void add_figures(const store::CellSummary& whole, Facts& facts) {
  for (const store::LevelSummary& level : whole.levels) {
    if (level.name != "process") continue;
    if (level.cpu_time_s) {
      std::string text = fmt::format("{:.3g} core-hours", *level.cpu_time_s / kSecondsPerHour);
      if (level.cpu_percent.mean && level.capacity_cores) {
        text += fmt::format(", {} of {}", view::percent_text(*level.cpu_percent.mean),
                            view::cores_text(*level.capacity_cores));
      }
      facts.emplace_back("CPU", std::move(text));
    }
    if (level.memory_bytes.peak) {
      facts.emplace_back(
          "memory", fmt::format("at most {}",
                                view::bytes_text(static_cast<double>(*level.memory_bytes.peak))));
    }
  }
}

Facts facts_of(const store::Recording& recording, const std::vector<view::HistoryRow>& rows) {
  Facts facts;
  if (recording.machine()) {
    const record::Machine& machine = *recording.machine();
    facts.emplace_back("host", record::escaped(machine.host, kMostLabelBytes));
    const std::int64_t first_ns = recording.first_sample_ns();
    const std::int64_t last_ns = recording.last_sample_ns();
    const double seconds = static_cast<double>(last_ns - first_ns) / 1e9;
    facts.emplace_back("when",
                       fmt::format("{}, for {}", base::local_time(recording.wall_ns(first_ns)),
                                   view::seconds_text(seconds)));
  }
  facts.emplace_back("cells", cells_text(rows));
  add_figures(store::summarize_all(recording), facts);
  const store::Ending ending = store::ending_of(recording);
  facts.emplace_back("ended", ending.text.empty() ? "it still ran" : ending.text);
  return facts;
}

std::string missing_text(const record::Missing& missing) {
  return missing.reason.empty()
             ? std::string(record::state_word(missing.state))
             : fmt::format("{}: {}", record::state_word(missing.state), missing.reason);
}

std::vector<std::string> remarks_of(const store::Recording& recording) {
  std::vector<std::string> remarks;
  const auto add = [&](const auto& list, auto text) {
    std::size_t count = 0;
    for (const auto& one : list) {
      if (++count > kMostRemarks) break;
      remarks.push_back(text(one));
    }
    if (list.size() > kMostRemarks) {
      remarks.push_back(fmt::format("… and {} more of these", list.size() - kMostRemarks));
    }
  };
  add(recording.damages(), [](const record::Damage& damage) {
    return fmt::format("{} bytes of the recording are lost: {}", damage.bytes, damage.what);
  });
  add(recording.gaps(), [&](const record::Gap& gap) {
    return fmt::format("no samples for {} from {} on: {}{}{}",
                       view::seconds_text(static_cast<double>(gap.end_ns - gap.begin_ns) / 1e9),
                       base::local_time(recording.wall_ns(gap.begin_ns)),
                       record::gap_reason_text(gap.reason), gap.text.empty() ? "" : ": ", gap.text);
  });
  std::vector<std::pair<std::string, std::string>> reasons;  // why, and what that concerns
  for (const record::Missing& missing : recording.missing()) {
    const std::string why = missing_text(missing);
    const auto known = std::ranges::find(reasons, why, &std::pair<std::string, std::string>::first);
    if (known != reasons.end()) {
      if (known->second.size() < kMostNamesBytes) known->second += ", " + missing.name;
    } else if (reasons.size() <= kMostRemarks) {
      reasons.emplace_back(why, missing.name);
    }
  }
  add(reasons, [](const auto& reason) {
    return fmt::format("unknown ({}): {}", reason.first, reason.second);
  });
  return remarks;
}

view::RunPage page_of(const store::Recording& recording, const std::string& level) {
  view::RunPage page;
  std::vector<std::string> sources;
  for (const store::Cell& cell : recording.cells()) sources.push_back(recording.source(cell));
  page.rows = view::history_rows(recording, recording.groups(), recording.cells(), sources);
  page.title = recording.machine() ? record::escaped(recording.machine()->label, kMostLabelBytes)
                                   : std::string("a recording");
  page.facts = facts_of(recording, page.rows);
  store::PlotRequest request;
  if (!level.empty()) request.level = level;
  page.plot = store::plot_data(recording, recording.cells(), sources, request);
  page.level = level;
  page.remarks = remarks_of(recording);
  return page;
}

[[noreturn]] void fail(const std::string& path, int error) {
  throw base::Error("cannot write the page", path, error);
}

void refuse_existing(const ReportOptions& options) {
  struct stat file{};
  if (options.force || ::lstat(options.output.c_str(), &file) != 0) return;
  throw base::Error("cannot write the page", options.output, "it is there already",
                    "--force replaces it");
}

void write_whole(const ReportOptions& options, const std::string& html) {
  const std::string part = fmt::format("{}.{}.part", options.output, ::getpid());
  base::File file = base::File::try_open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (!file.valid()) fail(options.output, errno);
  const bool written = base::write_all(file.fd(), html) && ::fsync(file.fd()) == 0 &&
                       ::rename(part.c_str(), options.output.c_str()) == 0;
  const int error = errno;
  if (written) return;
  ::unlink(part.c_str());
  fail(options.output, error);
}

}  // namespace

int report_page(const ReportOptions& options) {
  refuse_existing(options);
  const store::Recording recording = store::Recording::open(options.path);
  const std::string html = view::run_page(page_of(recording, options.level));
  write_whole(options, html);
  fmt::print("wrote {} ({})\n", record::escaped(options.output, 4096),
             view::bytes_text(static_cast<double>(html.size())));
  return 0;
}

}  // namespace tools
