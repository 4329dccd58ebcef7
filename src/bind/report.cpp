#include "bind/report.hpp"

#include "record/text.hpp"
#include "store/ending.hpp"
#include "store/summary.hpp"
#include "view/last_curve.hpp"
#include "view/summary.hpp"

namespace bind {
namespace {

constexpr std::size_t kMostLabelBytes = 4096;

const char* word(store::Ending::Kind kind) noexcept {
  using Kind = store::Ending::Kind;
  switch (kind) {
    case Kind::kRunning:
      return "running";
    case Kind::kClosed:
      return "closed";
    case Kind::kExited:
      return "exited";
    case Kind::kKilled:
      return "killed";
    case Kind::kOutOfMemory:
      return "out of memory";
    case Kind::kRebooted:
      return "rebooted";
    case Kind::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace

Report::Report(const std::string& path) : recording_(store::Recording::open(path)) {}

Rendered Report::summary(std::int64_t index, const std::string& level) const {
  return render(store::summarize(recording_, *recording_.cell(index)), level);
}

std::optional<store::CellSummary> Report::group_summary(std::int64_t index) const {
  return group_summary_of(recording_, recording_.groups(), recording_.cells(), index);
}

std::string Report::code(std::int64_t index) const {
  return recording_.source(*recording_.cell(index));
}

std::string Report::totals() const { return view::summary_json(store::summarize_all(recording_)); }

History Report::history() const {
  std::vector<std::string> sources;
  sources.reserve(recording_.cells().size());
  for (const store::Cell& cell : recording_.cells()) sources.push_back(recording_.source(cell));
  return history_of(recording_, recording_.groups(), recording_.cells(), sources);
}

Plot Report::plot(const store::PlotRequest& request) const {
  std::vector<std::string> sources;
  sources.reserve(recording_.cells().size());
  for (const store::Cell& cell : recording_.cells()) sources.push_back(recording_.source(cell));
  return plot_of(recording_, recording_.cells(), sources, request);
}

std::vector<CellInfo> Report::cells() const {
  std::vector<CellInfo> infos;
  infos.reserve(recording_.cells().size());
  for (const store::Cell& cell : recording_.cells()) {
    infos.push_back(info_of(recording_, recording_.groups(), cell));
  }
  return infos;
}

Ending Report::ending() const {
  store::Ending ending = store::ending_of(recording_);
  std::string curve = view::last_curve(recording_, ending);
  return {word(ending.kind), std::move(ending.text),
          ending.time_ns > 0 ? recording_.wall_ns(ending.time_ns) : 0,
          ending.cell != nullptr ? std::optional(ending.cell->begin.index) : std::nullopt,
          std::move(curve)};
}

std::string Report::label() const {
  return recording_.machine() ? record::escaped(recording_.machine()->label, kMostLabelBytes) : "";
}

}  // namespace bind
