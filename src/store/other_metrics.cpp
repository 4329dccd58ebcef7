#include "store/other_metrics.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "record/real.hpp"
#include "store/frame.hpp"

namespace store {
namespace {

constexpr std::size_t kMostMetrics = 1024;  // a hostile schema may name a million
constexpr std::array<std::string_view, 2> kInner{"pss_bytes", "pss_time_ns"};

// Shown by the figures that every level has, or only there to make them.
bool is_elsewhere(std::string_view metric) noexcept {
  const auto among = [&](const auto& names) {
    return std::find(names.begin(), names.end(), metric) != names.end();
  };
  const bool of_core = metric.starts_with("core") && metric.ends_with(".cpu_time_ns");
  return of_core || metric.starts_with("root_") || among(kCounterNames) || among(kGaugeNames) ||
         among(kInner);
}

}  // namespace

void OtherMetrics::add(const std::shared_ptr<const record::Schema>& schema,
                       const record::Rows& rows, std::size_t row) {
  if (schema != schema_) look_up(schema);
  for (const Place& place : places_) {
    if (place.column < rows.columns) {
      add(*place.track, rows.time_ns[row], rows.at(place.column, row));
    }
  }
}

void OtherMetrics::look_up(const std::shared_ptr<const record::Schema>& schema) {
  schema_ = schema;
  places_.clear();
  for (std::size_t column = 0; column < schema->columns.size(); ++column) {
    const std::string_view name = schema->columns[column].name;
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos || is_elsewhere(name.substr(dot + 1))) continue;
    auto track = tracks_.find(name);
    if (track == tracks_.end()) {
      if (tracks_.size() >= kMostMetrics) continue;
      const record::Column& known = schema->columns[column];
      Track fresh{known.kind, GaugeSeries(gaps_), RealSeries(gaps_), known.real, known.unit};
      track = tracks_.emplace(name, std::move(fresh)).first;
    }
    // A hostile file may call two columns alike.
    if (track->second.real != schema->columns[column].real) continue;
    places_.push_back({column, &track->second});
  }
}

void OtherMetrics::add(Track& track, std::int64_t time_ns, record::Value value) {
  if (track.real) {
    const auto number = record::number_of(true, value);
    track.real_series.add(time_ns, number);
    if (!number) track.last = value;
    return;
  }
  track.series.add(time_ns, value);
  if (!record::is_known(value)) {
    if (track.samples == 0) track.last = value;
    return;
  }
  // A counter that fell began anew: what it had gained before stays.
  if (track.samples > 0 && value > track.last) {
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - track.gain;
    track.gain += std::min(value - track.last, room);
  }
  track.last = value;
  ++track.samples;
}

void OtherMetrics::put_into(CellSummary& summary, const Reasons& reasons) const {
  for (LevelSummary& level : summary.levels) {
    if (!level.why_absent.empty()) continue;
    const std::string prefix = level.name + '.';
    for (const std::string& metric : reasons.missing_of(level.name)) {
      // Of what has no column at all, the summary has what people look for.
      const bool wanted = metric == "gpu" || metric == "drm" ||
                          (metric.starts_with("net_") && metric.ends_with("_bytes"));
      if (!wanted || tracks_.contains(prefix + metric)) continue;
      level.others.try_emplace(metric);
      constexpr record::Value kNone = record::unknown(record::State::kNotSupported);
      summary.unknown.emplace(prefix + metric, reasons.why(level.name, metric, kNone));
    }
    for (auto one = tracks_.lower_bound(prefix);
         one != tracks_.end() && one->first.starts_with(prefix); ++one) {
      const Track& track = one->second;
      const std::string metric = one->first.substr(prefix.size());
      if (track.real) {
        put_real(metric, track, reasons, level, summary);
        continue;
      }
      MetricSummary& figures = level.others[metric];
      figures.kind = track.kind;
      const std::int64_t least = track.kind == record::Kind::kCounter ? 2 : 1;
      if (track.samples < least) {
        summary.unknown.emplace(one->first, reasons.why(level.name, metric, track.last));
        continue;
      }
      figures.last = track.last;
      if (track.kind == record::Kind::kCounter) {
        figures.gain = track.gain;
        if (auto bound = reasons.bound(level.name, metric)) {
          summary.notes.emplace(one->first, *std::move(bound));
        }
        continue;
      }
      figures.values.mean = track.series.mean();
      if (track.series.max()) figures.values.max = static_cast<double>(*track.series.max());
      if (track.series.min()) figures.values.min = static_cast<double>(*track.series.min());
    }
  }
}

// What a custom monitor says holds until it says something else, so a counter that it was never
// asked for again has gained nothing; one that was never told is unknown.
void OtherMetrics::put_real(const std::string& name, const Track& track, const Reasons& reasons,
                            LevelSummary& level, CellSummary& summary) const {
  const std::string full_name = level.name + '.' + name;
  const RealSeries& series = track.real_series;
  std::string why = reasons.why(level.name, name, track.last);
  if (series.samples() == 0 && why.ends_with(": it was removed")) return;
  MetricSummary& figures = level.others[name];
  figures.kind = track.kind;
  figures.real = true;
  if (!track.unit.empty()) summary.units.emplace(full_name, track.unit);
  const std::int64_t least = track.kind == record::Kind::kCounter ? 2 : 1;
  if (series.samples() < least) {
    summary.unknown.emplace(full_name, std::move(why));
    return;
  }
  if (track.kind == record::Kind::kCounter) {
    figures.real_gain = series.gain();
  } else {
    figures.values.mean = series.mean();
    figures.values.max = series.max();
    figures.values.min = series.min();
  }
  // It was cut off, or had nothing to say, in a part of the cell.
  if (track.last != record::unknown(record::State::kNotYet)) {
    summary.notes.emplace(full_name, "incomplete: " + why);
  }
}

}  // namespace store
