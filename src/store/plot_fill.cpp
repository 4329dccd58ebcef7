// The rows of a recording, handed to the curves.

#include <algorithm>
#include <array>
#include <unordered_map>

#include "store/plot_curves.hpp"

namespace store {
namespace {

constexpr std::array<std::string_view, 4> kLevels{"process", "user", "job", "node"};
constexpr double kMillicores = 1000;

using Place = std::optional<std::size_t>;

Place place_of(const std::unordered_map<std::string_view, std::size_t>& places,
               const std::string& name) {
  const auto found = places.find(name);
  return found == places.end() ? std::nullopt : Place(found->second);
}

class Filler {
 public:
  Filler(const Recording& recording, const PlotTime& time, PlotPlan& plan)
      : time_(time),
        plan_(plan),
        gaps_(recording, time.edges_ns.front(), time.edges_ns.back()),
        buckets_(time.edges_ns.size() - 1),
        cores_(static_cast<std::size_t>(
                   std::ranges::count(plan.columns, PlotColumn::How::kCore, &PlotColumn::how)),
               buckets_, is_coarse(time)) {
    for (const PlotColumn& column : plan.columns) {
      if (column.how == PlotColumn::How::kCore) {
        core_columns_.push_back(&column);
      } else {
        curves_.emplace_back(column, buckets_);
        level_of_curve_.push_back(
            static_cast<std::size_t>(std::ranges::find(kLevels, column.level) - kLevels.begin()));
      }
    }
    for (std::size_t i = 0; i < kLevels.size(); ++i) fallback_cores_[i] = cores_of(recording, i);
    // Two neighbours may share a row: the one at their edge.
    other_curves_ = curves_;
  }

  // The buckets are so long that a value a second tells what a core did.
  static bool is_coarse(const PlotTime& time) {
    constexpr std::int64_t kCoarseNs = 2'000'000'000;
    const auto edges_ns = time.shown_edges_ns();
    const auto buckets = static_cast<std::int64_t>(edges_ns.size() - 1);
    return (edges_ns.back() - edges_ns.front()) / buckets >= kCoarseNs;
  }

  void add(const std::shared_ptr<const record::Schema>& schema, const record::Rows& rows,
           std::size_t row) {
    if (schema != schema_) look_up(schema);
    const std::int64_t time_ns = rows.time_ns[row];
    const RowStep step = row_step(gaps_, last_ns_, time_ns);
    last_ns_ = time_ns;
    if (!core_columns_.empty()) cores_.add(time_, step, rows, row, core_places_);
    read_levels(rows, row);
    const std::vector<PlotSegment>& segments = time_.segments;
    while (open_ < segments.size() && segments[open_].first_ns <= time_ns) begin(open_++);
    for (std::size_t i = closed_; i < open_; ++i) {
      const PlotSegment& segment = segments[i];
      if (time_ns <= segment.last_ns) add(segment, curves_of(i), step, rows, row);
    }
    while (closed_ < open_ && segments[closed_].last_ns <= time_ns) finish(closed_++);
  }

  void finish() {
    while (closed_ < open_) finish(closed_++);
    for (PlotCurve& curve : curves_) {
      if (!curve.buckets().any_known()) continue;
      std::move(curve.buckets()).put_into(track_of(curve.column()));
    }
    for (std::size_t core = 0; core < core_columns_.size(); ++core) {
      const PlotColumn& column = *core_columns_[core];
      std::vector<double>& mean = track_of(column).mean;
      mean.resize(buckets_);
      for (std::size_t i = 0; i < buckets_; ++i) {
        constexpr double kNsPerSecond = 1e9;
        const double rate = cores_.rate(core, i) * kNsPerSecond * column.scale;
        mean[i] = rate > column.most ? column.most : rate;
      }
    }
  }

 private:
  // Of each level, in the present row.
  struct Level {
    double cores = 0;
    bool bound = false;
  };

  static double cores_of(const Recording& recording, std::size_t level) {
    const auto& machine = recording.machine();
    if (!machine) return 0;
    const bool limited = kLevels[level] == "process" || kLevels[level] == "job";
    if (limited && !machine->affinity.empty()) return static_cast<double>(machine->affinity.size());
    return static_cast<double>(std::max<std::int64_t>(machine->cores_online, 0));
  }

  void look_up(const std::shared_ptr<const record::Schema>& schema) {
    schema_ = schema;
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < schema->columns.size(); ++i) {
      places.emplace(schema->columns[i].name, i);
    }
    places_.clear();
    for (const PlotCurve& curve : curves_) places_.push_back(place_of(places, curve.column().name));
    core_places_.clear();
    for (const PlotColumn* core : core_columns_)
      core_places_.push_back(place_of(places, core->name));
    for (std::size_t i = 0; i < kLevels.size(); ++i) {
      const std::string level(kLevels[i]);
      millicores_[i] = place_of(places, level + ".capacity_millicores");
      bounds_[i] = place_of(places, level + ".memory_is_upper_bound");
    }
  }

  void read_levels(const record::Rows& rows, std::size_t row) {
    for (std::size_t i = 0; i < kLevels.size(); ++i) {
      const record::Value millicores = value(millicores_[i], rows, row);
      levels_[i].cores =
          millicores > 0 ? static_cast<double>(millicores) / kMillicores : fallback_cores_[i];
      levels_[i].bound = value(bounds_[i], rows, row) > 0;
    }
  }

  static record::Value value(const Place& place, const record::Rows& rows,
                             std::size_t row) noexcept {
    return place && *place < rows.columns ? rows.at(*place, row)
                                          : record::unknown(record::State::kNotSupported);
  }

  std::vector<PlotCurve>& curves_of(std::size_t segment) noexcept {
    return segment % 2 == 0 ? curves_ : other_curves_;
  }

  void add(const PlotSegment& segment, std::vector<PlotCurve>& curves, const RowStep& step,
           const record::Rows& rows, std::size_t row) {
    for (std::size_t i = 0; i < curves.size(); ++i) {
      const Level& level = levels_[level_of_curve_[i]];
      const bool cpu = curves[i].column().how == PlotColumn::How::kCpu;
      curves[i].add(time_, segment, step, value(places_[i], rows, row), cpu ? level.cores : 1,
                    level.bound);
    }
  }

  void begin(std::size_t segment) {
    // The one before the last has the same curves: it must be over.
    if (segment >= 2 && closed_ + 2 <= segment) finish(closed_++);
    for (PlotCurve& curve : curves_of(segment)) curve.begin(time_.segments[segment]);
  }

  void finish(std::size_t segment) {
    const PlotSegment& one = time_.segments[segment];
    std::vector<PlotCurve>& curves = curves_of(segment);
    for (std::size_t i = 0; i < curves.size(); ++i) {
      curves[i].finish(time_, one);
      if (segment % 2 != 0) {
        curves_[i].buckets().take(curves[i].buckets(), one.first_bucket, one.buckets);
      }
    }
  }

  PlotTrack& track_of(const PlotColumn& column) {
    return plan_.metrics[column.metric].panels[column.panel].tracks[column.track];
  }

  const PlotTime& time_;
  PlotPlan& plan_;
  GapTable gaps_;
  std::size_t buckets_;
  std::vector<PlotCurve> curves_, other_curves_;
  std::vector<std::size_t> level_of_curve_;
  std::vector<const PlotColumn*> core_columns_;
  PlotCores cores_;
  std::array<double, kLevels.size()> fallback_cores_{};

  std::shared_ptr<const record::Schema> schema_;
  std::vector<Place> places_, core_places_;
  std::array<Place, kLevels.size()> millicores_, bounds_;
  std::array<Level, kLevels.size()> levels_;

  std::int64_t last_ns_ = 0;
  std::size_t closed_ = 0;  // the segments before this one are over
  std::size_t open_ = 0;    // those from this one on haven't begun
};

bool is_known(const PlotTrack& track) {
  return std::ranges::any_of(track.mean, [](double value) { return !std::isnan(value); });
}

// Leaves out the buckets beside the window, and what only they needed.
void strip(const PlotTime& time, PlotTrack& track) {
  for (std::vector<double>* values : {&track.min, &track.max, &track.mean}) {
    if (values->empty()) continue;
    values->resize(values->size() - time.hidden_behind);
    values->erase(values->begin(),
                  values->begin() + static_cast<std::ptrdiff_t>(time.hidden_before));
  }
  const auto same = [](double one, double other) { return one == other || std::isnan(one); };
  if (!std::ranges::equal(track.min, track.max, same)) return;
  track.min.clear();
  track.max.clear();
}

}  // namespace

void fill_plot(const Recording& recording, const PlotTime& time, PlotPlan& plan) {
  Filler filler(recording, time, plan);
  std::int64_t first_ns = time.segments.front().first_ns;
  std::int64_t last_ns = time.segments.front().last_ns;
  for (const PlotSegment& one : time.segments) {
    first_ns = std::min(first_ns, one.first_ns);
    last_ns = std::max(last_ns, one.last_ns);
  }
  // A core's mean needs the sample before the first.
  const std::int64_t before_ns = recording.sample_at_or_before(first_ns - 1);
  const bool coarse = Filler::is_coarse(time);
  recording.visit_rows(
      before_ns > 0 ? before_ns : first_ns, last_ns,
      [&](const auto& schema, const record::Rows& rows, std::size_t row) {
        filler.add(schema, rows, row);
        return true;
      },
      [&](const record::Column& column) {
        return coarse && column.name.starts_with("node.core") &&
               column.name.ends_with(".cpu_time_ns");
      });
  filler.finish();
  for (PlotMetric& metric : plan.metrics) {
    for (PlotPanel& panel : metric.panels) {
      if (time.hidden_before + time.hidden_behind > 0) {
        for (PlotTrack& track : panel.tracks) strip(time, track);
      }
      std::erase_if(panel.tracks, [](const PlotTrack& track) { return !is_known(track); });
    }
    std::erase_if(metric.panels, [](const PlotPanel& panel) { return panel.tracks.empty(); });
  }
  std::erase_if(plan.metrics, [](const PlotMetric& metric) { return metric.panels.empty(); });
}

}  // namespace store
