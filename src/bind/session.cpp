#include "bind/session.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "record/text.hpp"
#include "store/group_summary.hpp"
#include "view/history.hpp"
#include "view/history_page.hpp"
#include "view/summary.hpp"

namespace bind {
namespace {

std::vector<std::string> levels_of(const watch::WatchOptions& options) {
  std::vector<std::string> levels;
  if (options.process_level) levels.emplace_back("process");
  levels.emplace_back("user");
  levels.emplace_back("job");
  if (options.node_level) levels.emplace_back("node");
  return levels;
}

}  // namespace

std::string checked_level(const std::string& level) {
  if (level == "all") return "";
  for (const char* one : {"process", "user", "job", "node"}) {
    if (level == one) return level;
  }
  throw std::invalid_argument("level '" + level + "' is not one of process, user, job, node, all");
}

Rendered render(const store::CellSummary& summary, const std::string& level) {
  return {view::summary_text(summary, level), view::summary_html(summary, level),
          view::summary_json(summary)};
}

CellInfo info_of(const store::Recording& recording, const std::vector<store::Group>& groups,
                 const store::Cell& cell) {
  const auto group = std::ranges::lower_bound(groups, cell.group, {}, &store::Group::index);
  const bool is_in = group != groups.end() && group->index == cell.group;
  const store::CellSummary summary = store::summarize(recording, cell);
  return {summary.index,
          summary.execution_count,
          summary.begin_wall_ns,
          summary.duration_s,
          std::string(record::outcome_word(summary.outcome)),
          summary.running,
          is_in ? std::optional(cell.group) : std::nullopt,
          is_in ? group->name : std::string()};
}

std::optional<store::CellSummary> group_summary_of(const store::Recording& recording,
                                                   const std::vector<store::Group>& groups,
                                                   const std::vector<store::Cell>& cells,
                                                   std::int64_t index) {
  const auto group = std::ranges::find(groups, index, &store::Group::index);
  const std::vector<store::Cell> members = store::cells_of(index, cells);
  if (group == groups.end() || members.empty()) return std::nullopt;
  return store::summarize_group(recording, *group, members);
}

History history_of(const store::Recording& recording, const std::vector<store::Group>& groups,
                   const std::vector<store::Cell>& cells, const std::vector<std::string>& sources) {
  const std::vector<view::HistoryRow> rows = view::history_rows(recording, groups, cells, sources);
  std::string json = "[";
  for (const view::HistoryRow& row : rows) {
    if (json.size() > 1) json += ',';
    json += view::summary_json(row.summary);
  }
  return {{view::history_text(rows), view::history_html(rows), json + "]"},
          view::history_page_json(rows)};
}

Session::Session(watch::WatchOptions options, const std::string& directory)
    : levels_(levels_of(options)),
      limits_{options.keep_days, options.keep_bytes},
      watch_(
          std::make_unique<watch::Watch>(std::move(options), watch::create_recording(directory))),
      recording_fd_(watch_->recording_fd()),
      recording_(store::Recording::follow(recording_fd_)) {}

Session::~Session() {
  watch_->close();
  // A forked child has neither our thread nor the right to end anything: it leaves all as it is.
  if (!watch_->is_owner()) {
    [[maybe_unused]] const watch::Watch* left = watch_.release();
  }
}

Session::Known Session::know() {
  // First what isn't acknowledged, then the recording: a mark moves only from there to here.
  const std::vector<watch::PendingCell> pending = watch_->pending_cells();
  std::vector<record::Group> steps = watch_->pending_groups();
  const bool stalled = watch_->stalled();
  const auto [spill_fd, spill_offset] = watch_->spill();
  if (const int fd = watch_->recording_fd(); fd != recording_fd_) {
    recording_ = store::Recording::follow(recording_fd_ = fd);
  }
  recording_.set_spill(spill_fd, spill_offset);
  recording_.pause(stalled);
  recording_.refresh();
  Known known{recording_.cells(), {}, recording_.groups()};
  for (record::Group& step : steps) store::take_step(std::move(step), known.groups);
  known.sources.resize(known.cells.size());
  for (const watch::PendingCell& one : pending) {
    const auto place = std::lower_bound(
        known.cells.begin(), known.cells.end(), one.begin.index,
        [](const store::Cell& cell, std::int64_t index) { return cell.begin.index < index; });
    if (place != known.cells.end() && place->begin.index == one.begin.index) {
      if (!place->end) place->end = one.end;
      continue;
    }
    if (one.begin.time_ns == 0) continue;  // an end whose begin is in no place that we can read
    known.sources.insert(known.sources.begin() + (place - known.cells.begin()), one.begin.source);
    known.cells.insert(place, store::Cell{one.begin, one.end, 0, 0});
  }
  if (!known.groups.empty()) store::assign_groups(known.groups, known.cells);
  return known;
}

std::string Session::source_of(const Known& known, std::size_t place) const {
  const auto& source = known.sources[place];
  return source ? *source : recording_.source(known.cells[place]);
}

std::vector<std::string> Session::sources_of(const Known& known) const {
  std::vector<std::string> sources;
  sources.reserve(known.cells.size());
  for (std::size_t i = 0; i < known.cells.size(); ++i) sources.push_back(source_of(known, i));
  return sources;
}

std::optional<store::CellSummary> Session::summary(std::int64_t index) {
  if (!watch_->is_owner()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  for (const store::Cell& cell : know().cells) {
    if (cell.begin.index == index) return store::summarize(recording_, cell);
  }
  return std::nullopt;
}

std::optional<store::CellSummary> Session::group_summary(std::int64_t index) {
  if (!watch_->is_owner()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const Known known = know();
  return group_summary_of(recording_, known.groups, known.cells, index);
}

History Session::history() {
  if (!watch_->is_owner()) return {};
  const std::lock_guard lock(mutex_);
  const Known known = know();
  return history_of(recording_, known.groups, known.cells, sources_of(known));
}

Plot Session::plot(const store::PlotRequest& request) {
  if (!watch_->is_owner()) return {};
  const std::lock_guard lock(mutex_);
  const Known known = know();
  return plot_of(recording_, known.cells, sources_of(known), request);
}

std::vector<CellInfo> Session::cells() {
  std::vector<CellInfo> infos;
  if (!watch_->is_owner()) return infos;
  const std::lock_guard lock(mutex_);
  const Known known = know();
  for (const store::Cell& cell : known.cells) {
    infos.push_back(info_of(recording_, known.groups, cell));
  }
  return infos;
}

std::optional<std::string> Session::code(std::int64_t index) {
  if (!watch_->is_owner()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const Known known = know();
  for (std::size_t i = 0; i < known.cells.size(); ++i) {
    if (known.cells[i].begin.index != index) continue;
    return source_of(known, i);
  }
  return std::nullopt;
}

bool Session::with_cells(const std::vector<std::int64_t>& indices, const Take& take) {
  if (!watch_->is_owner()) return indices.empty();
  const std::lock_guard lock(mutex_);
  const Known known = know();
  std::vector<store::Cell> cells;
  std::vector<std::string> sources;
  for (const std::int64_t index : indices) {
    const auto cell = std::ranges::lower_bound(
        known.cells, index, {}, [](const store::Cell& one) { return one.begin.index; });
    if (cell == known.cells.end() || cell->begin.index != index) return false;
    sources.push_back(source_of(known, static_cast<std::size_t>(cell - known.cells.begin())));
    cells.push_back(*cell);
  }
  take(recording_, known.groups, cells, std::move(sources));
  return true;
}

std::string Session::totals() {
  if (!watch_->is_owner()) return {};
  const std::lock_guard lock(mutex_);
  know();
  return view::summary_json(store::summarize_all(recording_));
}

void Session::save(int fd) {
  if (!watch_->is_owner()) throw base::Error("cannot copy", "the recording", ECHILD);
  const std::lock_guard lock(mutex_);
  know();
  if (!recording_.copy_to(fd, base::clock_ns(CLOCK_MONOTONIC))) {
    throw base::Error("cannot copy", "the recording", errno);
  }
}

std::optional<double> Session::own_cost_percent() const {
  constexpr std::int64_t kLeastNs = 1'000'000'000;  // its start is no measure of what it costs
  const std::int64_t first_ns = recording_.first_sample_ns();
  const std::int64_t last_ns = recording_.last_sample_ns();
  const auto first = recording_.rows_between(first_ns, first_ns);
  const auto last = recording_.rows_between(last_ns, last_ns);
  if (last_ns - first_ns < kLeastNs || first.empty() || last.empty() ||
      first.front().rows.count == 0 || last.back().rows.count == 0) {
    return std::nullopt;
  }
  const std::int64_t cpu_ns = last.back().rows.cpu_ns.back() - first.front().rows.cpu_ns.front();
  if (cpu_ns < 0) return std::nullopt;  // another sampler went on, and counts anew
  return 100.0 * static_cast<double>(cpu_ns) / static_cast<double>(last_ns - first_ns);
}

void Session::count_kept(Status& status) const {
  if (!status.path || watch_->stalled() || limits_.days < 0 || limits_.bytes < 0) return;
  std::string reason;
  const base::File directory =
      watch::open_own_directory(watch::parted_path(*status.path).first, reason);
  const store::Kept kept = store::count_kept(directory.fd());
  if (kept.recordings == 0) return;
  status.keep_days = limits_.days;
  status.keep_bytes = limits_.bytes;
  status.kept = kept.recordings;
  status.kept_bytes = kept.bytes;
}

Status Session::status() {
  Status status;
  const watch::WatchState state = watch_->state();
  if (!state.lost.empty()) status.lost = state.lost;
  if (!watch_->is_owner()) return status;
  const std::lock_guard lock(mutex_);
  status.cells = know().cells.size();
  if (const std::string path = watch_->path(); !path.empty()) status.path = path;
  count_kept(status);
  status.where = state.where;
  status.size_bytes = recording_.size_bytes();
  status.rate_hz = state.rate_hz;
  status.levels = levels_;
  status.sampler_pid = state.sampler_pid;
  status.sampler_restarts = state.restarts;
  status.sampler_cpu_percent = own_cost_percent();
  for (const record::Gap& gap : recording_.gaps()) {
    std::string reason(record::gap_reason_text(gap.reason));
    if (!gap.text.empty()) reason += ": " + gap.text;
    status.gaps.emplace_back(static_cast<double>(gap.end_ns - gap.begin_ns) / 1e9, reason);
  }
  // The newest word of each name; "measured" alone takes back what was said before.
  std::map<std::string, std::string> newest;
  for (const record::Missing& missing : recording_.missing()) {
    const bool taken_back = missing.state == record::State::kMeasured && missing.reason.empty();
    if (taken_back) {
      newest.erase(missing.name);
    } else {
      newest[missing.name] = std::string(record::state_word(missing.state)) + ": " + missing.reason;
    }
  }
  for (auto& [name, text] : newest) status.missing.emplace_back(name, std::move(text));
  return status;
}

}  // namespace bind
