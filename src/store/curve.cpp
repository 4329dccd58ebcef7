#include "store/curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "record/real.hpp"
#include "store/counters.hpp"
#include "store/frame.hpp"
#include "store/gap_table.hpp"

namespace store {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kNsPerSecond = 1e9;

// How far the column may fall and still be right.
std::int64_t slack_of(std::string_view column) noexcept {
  constexpr std::string_view kLevel = "process.";
  if (!column.starts_with(kLevel)) return 0;
  const auto name = std::ranges::find(kCounterNames, column.substr(kLevel.size()));
  return name == kCounterNames.end()
             ? 0
             : rounding_of(static_cast<Counter>(name - kCounterNames.begin()));
}

class Curve {
 public:
  Curve(std::int64_t begin_ns, std::int64_t end_ns, std::size_t buckets, std::int64_t slack)
      : begin_ns_(static_cast<double>(begin_ns)),
        width_ns_((static_cast<double>(end_ns) - begin_ns_) / static_cast<double>(buckets)),
        slack_(static_cast<double>(slack)),
        highest_(buckets, kUnknown),
        gained_(buckets),
        known_ns_(buckets) {}

  void add(std::int64_t time_ns, std::optional<double> number, record::Kind kind,
           const GapTable& gaps) {
    const double value = number.value_or(0);
    const bool joined =
        last_ && number && last_->kind == kind && !gaps.between(last_->time_ns, time_ns);
    if (kind == record::Kind::kGauge) {
      if (joined) hold(last_->time_ns, time_ns, last_->value);
      if (number) hold(time_ns, time_ns, value);
    } else if (joined && value < last_->value && last_->value - value <= slack_) {
      number = last_->value;
    }
    if (kind == record::Kind::kCounter && joined && *number >= last_->value) {
      spread(last_->time_ns, time_ns, *number - last_->value);
    }
    last_.reset();
    if (number) last_ = Point{time_ns, *number, kind};
  }

  [[nodiscard]] std::vector<double> values() && {
    for (std::size_t i = 0; i < highest_.size(); ++i) {
      if (known_ns_[i] > 0) highest_[i] = gained_[i] / known_ns_[i] * kNsPerSecond;
    }
    return std::move(highest_);
  }

 private:
  struct Point {
    std::int64_t time_ns = 0;
    double value = 0;
    record::Kind kind = record::Kind::kGauge;
  };

  // Where a time lies, in buckets; may lie outside.
  [[nodiscard]] double place(std::int64_t time_ns) const noexcept {
    return (static_cast<double>(time_ns) - begin_ns_) / width_ns_;
  }
  // `place` lies in 0..size; the end of the window belongs to the last bucket.
  [[nodiscard]] std::size_t bucket(double place) const noexcept {
    return std::min(static_cast<std::size_t>(place), highest_.size() - 1);
  }

  void hold(std::int64_t from_ns, std::int64_t to_ns, double value) {
    const auto size = static_cast<double>(highest_.size());
    const double from = place(from_ns);
    const double to = place(to_ns);
    if (to < 0 || from > size) return;
    const std::size_t last = bucket(std::min(to, size));
    for (std::size_t i = bucket(std::max(from, 0.0)); i <= last; ++i) {
      // It doesn't reach into a bucket that only begins where it ends.
      if (from < to && i > 0 && static_cast<double>(i) >= to) break;
      highest_[i] = std::fmax(highest_[i], value);
    }
  }

  void spread(std::int64_t from_ns, std::int64_t to_ns, double gained) {
    const auto size = static_cast<double>(highest_.size());
    const double from = place(from_ns);
    const double to = place(to_ns);
    if (!(to > from) || to <= 0 || from >= size) return;
    const std::size_t last = bucket(std::min(to, size));
    for (std::size_t i = bucket(std::max(from, 0.0)); i <= last; ++i) {
      const auto left = static_cast<double>(i);
      const double part = std::min(to, left + 1) - std::max(from, left);
      if (!(part > 0)) continue;
      gained_[i] += gained * (part / (to - from));
      known_ns_[i] += part * width_ns_;
    }
  }

  double begin_ns_;
  double width_ns_;
  double slack_;
  std::vector<double> highest_;
  std::vector<double> gained_;
  std::vector<double> known_ns_;
  std::optional<Point> last_;  // the newest sample, when it is known
};

}  // namespace

std::vector<double> curve_of(const Recording& recording, std::string_view column,
                             std::int64_t begin_ns, std::int64_t end_ns, std::size_t buckets) {
  if (buckets == 0 || begin_ns >= end_ns) return std::vector<double>(buckets, kUnknown);
  const std::int64_t before_ns = recording.sample_at_or_before(begin_ns);
  const std::int64_t after_ns = recording.sample_at_or_after(end_ns);
  const std::int64_t from_ns = before_ns == 0 ? begin_ns : before_ns;
  const std::int64_t to_ns = after_ns == 0 ? end_ns : after_ns;
  const GapTable gaps(recording, from_ns, to_ns);
  Curve curve(begin_ns, end_ns, buckets, slack_of(column));
  std::shared_ptr<const record::Schema> known;  // the schema that `place` is about
  std::optional<std::size_t> place;
  recording.visit_rows(
      from_ns, to_ns, [&](const auto& schema, const record::Rows& rows, std::size_t row) {
        if (schema != known) {
          known = schema;
          const auto found = std::ranges::find(schema->columns, column, &record::Column::name);
          place.reset();
          if (found != schema->columns.end())
            place = static_cast<std::size_t>(found - schema->columns.begin());
        }
        const record::Value value =
            place ? rows.at(*place, row) : record::unknown(record::State::kNotSupported);
        const record::Kind kind = place ? schema->columns[*place].kind : record::Kind::kGauge;
        const bool real = place && schema->columns[*place].real;
        curve.add(rows.time_ns[row], record::number_of(real, value), kind, gaps);
        return true;
      });
  return std::move(curve).values();
}

}  // namespace store
