#include "store/plot_curves.hpp"

#include <algorithm>
#include <limits>

#include "record/real.hpp"

namespace store {

void PlotCurve::begin(const PlotSegment& segment) noexcept {
  buckets_.begin(segment.first_bucket, segment.buckets);
  held_ = {};
  if (column_->how != PlotColumn::How::kMemory) return;
  if (!all_) all_ = buckets_;
  all_->begin(segment.first_bucket, segment.buckets);
  all_held_ = {};
  measured_ = false;
}

void PlotCurve::add(const PlotTime& time, const PlotSegment& segment, const RowStep& step,
                    record::Value value, double capacity, bool bound) {
  if (column_->how == PlotColumn::How::kRate || column_->how == PlotColumn::How::kCpu) {
    if (step.time_ns < segment.from_ns || step.time_ns > segment.to_ns) return;
    count(time, segment, intervals_.add(step, column_->real ? real_steps(value) : value, capacity));
    return;
  }
  std::optional<double> known;
  if (const auto number = record::number_of(column_->real, value)) {
    known = *number * column_->scale;
  }
  if (!all_) {
    hold(held_, buckets_, time, segment, step.time_ns, step.after_gap, known);
    return;
  }
  hold(all_held_, *all_, time, segment, step.time_ns, step.after_gap, known);
  measured_ = measured_ || (known && !bound);
  // Between measured values an upper bound tells nothing new.
  hold(held_, buckets_, time, segment, step.time_ns, step.after_gap,
       known && bound ? held_.value : known);
}

void PlotCurve::hold(Held& held, PlotBuckets& buckets, const PlotTime& time,
                     const PlotSegment& segment, std::int64_t time_ns, bool after_gap,
                     std::optional<double> value) {
  const bool first = held.time_ns == 0;
  if (held.value && !after_gap) buckets.add(time.edges_ns, held.time_ns, time_ns, *held.value);
  held = {time_ns, value};
  if (!value) return;
  // The sample at an edge stands for the edge, and for all before it that is as near.
  const bool at_begin = first && time_ns - segment.begin_ns <= kNearNs;
  buckets.add(time.edges_ns, at_begin ? std::min(segment.begin_ns, time_ns) : time_ns, time_ns,
              *value);
}

void PlotCurve::count(const PlotTime& time, const PlotSegment& segment,
                      const std::optional<RateInterval>& interval) {
  if (!interval) return;
  double value = 0;
  if (column_->how == PlotColumn::How::kCpu) {
    value = interval->share() * column_->scale;
  } else {
    value = interval->per_second() * column_->scale;
    if (column_->most > 0) value = std::min(value, column_->most);
  }
  // Its first sample is a little behind the cell's begin, and so is its last one.
  const bool first = interval->begin_ns - segment.begin_ns <= kNearNs;
  const bool last = segment.end_ns - interval->end_ns <= kNearNs;
  buckets_.add(time.edges_ns, first ? segment.begin_ns : interval->begin_ns,
               last ? segment.end_ns : std::min(interval->end_ns, segment.end_ns), value);
}

void PlotCurve::finish(const PlotTime& time, const PlotSegment& segment) {
  count(time, segment, intervals_.finish());
  const auto to_the_end = [&](const Held& held, PlotBuckets& buckets) {
    if (held.value && segment.end_ns > held.time_ns && segment.end_ns - held.time_ns <= kNearNs) {
      buckets.add(time.edges_ns, held.time_ns, segment.end_ns, *held.value);
    }
  };
  to_the_end(held_, buckets_);
  if (!all_) return;
  to_the_end(all_held_, *all_);
  if (!measured_) buckets_.take(*all_, segment.first_bucket, segment.buckets);
}

void PlotCores::add(const PlotTime& time, const RowStep& step, const record::Rows& rows,
                    std::size_t row, const std::vector<std::optional<std::size_t>>& columns) {
  after_gap_ = after_gap_ || step.after_gap;
  if (seldom_ && row != 0) return;
  const std::int64_t begin_ns = last_ns_;
  const bool joined = begin_ns > 0 && !after_gap_ && step.time_ns > begin_ns;
  after_gap_ = false;
  step_gained_.assign(cores_, 0);
  step_known_.assign(cores_, 0);
  for (std::size_t core = 0; core < cores_; ++core) {
    const record::Value now = columns[core] && *columns[core] < rows.columns
                                  ? rows.at(*columns[core], row)
                                  : record::unknown(record::State::kNotSupported);
    const record::Value last = last_[core];
    last_[core] = now;
    const bool known = joined && last >= 0 && now >= last;
    step_gained_[core] = known ? static_cast<double>(now - last) : 0.0;
    step_known_[core] = known ? 1.0 : 0.0;
  }
  last_ns_ = step.time_ns;
  if (!joined) return;
  const std::vector<std::int64_t>& edges = time.edges_ns;
  const std::size_t buckets = edges.size() - 1;
  while (at_ < buckets && edges[at_ + 1] <= begin_ns) ++at_;
  const auto length_ns = static_cast<double>(step.time_ns - begin_ns);
  for (std::size_t i = at_; i < buckets && edges[i] < step.time_ns; ++i) {
    const std::int64_t part = std::min(step.time_ns, edges[i + 1]) - std::max(begin_ns, edges[i]);
    if (part <= 0) continue;
    const auto part_ns = static_cast<double>(part);
    const double share = part_ns / length_ns;
    double* gained = &gained_[i * cores_];
    double* known = &known_ns_[i * cores_];
    for (std::size_t core = 0; core < cores_; ++core) {
      gained[core] += step_gained_[core] * share;
      known[core] += step_known_[core] * part_ns;
    }
  }
}

double PlotCores::rate(std::size_t core, std::size_t bucket) const noexcept {
  const std::size_t place = bucket * cores_ + core;
  return known_ns_[place] > 0 ? gained_[place] / known_ns_[place] : kNotKnown;
}

}  // namespace store
