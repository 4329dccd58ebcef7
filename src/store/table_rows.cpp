#include "store/table_rows.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/error.hpp"
#include "record/real.hpp"
#include "store/machines.hpp"

namespace store {
namespace {

constexpr std::array<std::string_view, 4> kLevels{"process", "user", "job", "node"};
constexpr std::string_view kCapacity = ".capacity_millicores";
constexpr std::size_t kMostColumns = 8192;  // a hostile schema may name a million
constexpr double kMillicores = 1000;
constexpr double kPercent = 100;
constexpr double kPerCentOfTime = 1e-7;  // from nanoseconds a second
constexpr double kSteps = 1000;          // as in summaries: digits behind them mean nothing
constexpr double kMostExact = 9e15;

double rounded(double value) noexcept {
  const double scaled = value * kSteps;
  return std::abs(scaled) < kMostExact ? std::round(scaled) / kSteps : value;
}

double number_of(DerivedRate::Form form, bool within_100, const RateInterval& interval) noexcept {
  if (form == DerivedRate::Form::kCapacityPercent) return interval.share() * kPercent;
  if (form == DerivedRate::Form::kPerSecond) return interval.per_second();
  const double percent = interval.per_second() * kPerCentOfTime;
  return within_100 ? std::min(percent, kPercent) : percent;
}

}  // namespace

std::string_view TableRows::Recorded::level() const noexcept {
  return std::string_view(full_name).substr(0, full_name.find('.'));
}

std::string_view TableRows::Recorded::metric() const noexcept {
  return std::string_view(full_name).substr(full_name.find('.') + 1);
}

RateRule TableRows::Recorded::rule() const noexcept {
  return real ? kRealRateRule : rate_rule(level(), metric());
}

TableRows::TableRows(const Recording& recording, Table& table, bool groups)
    : recording_(recording), table_(table) {
  for (const char* name :
       {"cell_index", "execution_count", "time_unix_ns", "since_cell_begin_ns"}) {
    table_.columns.push_back(
        {name, std::string(unit_of(name)), TableColumn::Kind::kKey, {}, {}, false});
    names_.insert(name);
  }
  if (groups) {
    table_.columns.push_back({"group_index", "", TableColumn::Kind::kKey, {}, {}, false});
    names_.insert("group_index");
  }
  keys_ = table_.columns.size();
}

void TableRows::add_cell(const Cell& cell, const CellSpan& span, const GapTable& gaps) {
  first_row_ = table_.rows;
  times_ns_.clear();
  rising_.clear();
  for (const Recorded& one : recorded_) {
    rising_.push_back({RateIntervals(one.rule()), 0});
  }
  const record::Machine* machine = machine_at(recording_, span.end.time_ns);
  for (const auto level : kLevels) cores_[std::string(level)] = cores_of(machine, level);
  recording_.visit_rows(
      span.first_row_ns(), span.last_row_ns(),
      [&](const auto& schema, const record::Rows& rows, std::size_t row) {
        if (schema != schema_) look_up(schema);
        if ((table_.rows + 1) * table_.columns.size() > Recording::kMostWindowValues) {
          throw base::Error(
              "cannot export the samples of", fmt::format("#{}", cell.begin.index),
              fmt::format("together they are more than {} numbers", Recording::kMostWindowValues),
              "ask for fewer cells, or for one level");
        }
        add_row(cell, span, gaps, rows, row);
        return true;
      });
  for (std::size_t i = 0; i < recorded_.size(); ++i) {
    put_rate(recorded_[i], rising_[i], rising_[i].intervals.finish());
  }
}

void TableRows::look_up(const std::shared_ptr<const record::Schema>& schema) {
  schema_ = schema;
  places_.clear();
  capacities_.clear();
  const bool all = table_.level == "all";
  std::set<std::size_t> taken;  // a hostile schema may name a column twice
  for (std::size_t i = 0; i < schema->columns.size(); ++i) {
    const std::string_view name = schema->columns[i].name;
    const std::string_view level = name.substr(0, name.find('.'));
    if (level.size() == name.size() || (!all && level != table_.level)) continue;
    if (std::ranges::find(kLevels, level) == kLevels.end()) continue;
    if (name.substr(level.size()) == kCapacity) capacities_.emplace(level, i);
    const auto known = by_name_.find(name);
    const auto place =
        known != by_name_.end()
            ? std::optional(known->second)
            : add_column(schema->columns[i], all ? name : name.substr(level.size() + 1));
    if (place && recorded_[*place].real != schema->columns[i].real) continue;
    if (place && taken.insert(*place).second) places_.push_back({i, *place});
  }
}

std::optional<std::size_t> TableRows::add_column(const record::Column& column,
                                                 std::string_view name) {
  if (table_.columns.size() >= kMostColumns || !names_.emplace(name).second) return std::nullopt;
  const bool counter = column.kind == record::Kind::kCounter;
  Recorded one{column.name, table_.columns.size(), {}, 0, 0, false, column.real};
  TableColumn fresh;
  fresh.name = name;
  fresh.unit = column.real ? column.unit : std::string(unit_of(name));
  fresh.kind = counter ? TableColumn::Kind::kCounter : TableColumn::Kind::kGauge;
  fresh.any_unknown = table_.rows > 0;
  fresh.real = column.real;
  if (column.real) {
    fresh.rates.assign(table_.rows, std::nan(""));
  } else {
    fresh.numbers.assign(table_.rows, kNoNumber);
  }
  table_.columns.push_back(std::move(fresh));
  one.unknown_rows = table_.rows;
  one.first_unknown = record::unknown(record::State::kNotYet);
  if (counter)
    one.rate = column.real ? real_rate_of(one.metric(), column.unit) : rate_of(one.metric());
  if (one.rate.form != DerivedRate::Form::kNone) {
    std::string rate(name.substr(0, name.size() - one.metric().size()));
    rate += one.rate.name;
    if (names_.insert(rate).second) {
      table_.columns.push_back({std::move(rate),
                                one.rate.unit,
                                TableColumn::Kind::kRate,
                                {},
                                std::vector<double>(table_.rows, std::nan("")),
                                table_.rows > 0});
    } else {
      one.rate.form = DerivedRate::Form::kNone;
    }
  }
  rising_.push_back({RateIntervals(one.rule()), times_ns_.size()});
  recorded_.push_back(std::move(one));
  by_name_.emplace(column.name, recorded_.size() - 1);
  return recorded_.size() - 1;
}

void TableRows::add_row(const Cell& cell, const CellSpan& span, const GapTable& gaps,
                        const record::Rows& rows, std::size_t row) {
  const std::int64_t time_ns = rows.time_ns[row];
  const RowStep step = row_step(gaps, times_ns_.empty() ? 0 : times_ns_.back(), time_ns);
  const std::int64_t count = cell.execution_count();
  table_.columns[0].numbers.push_back(cell.begin.index);
  table_.columns[1].numbers.push_back(count < 0 ? kNoNumber : count);
  table_.columns[1].any_unknown = table_.columns[1].any_unknown || count < 0;
  table_.columns[2].numbers.push_back(recording_.wall_ns(time_ns));
  table_.columns[3].numbers.push_back(time_ns - span.begin.time_ns);
  if (keys_ > 4) {
    table_.columns[4].numbers.push_back(cell.group > 0 ? cell.group : kNoNumber);
    table_.columns[4].any_unknown = table_.columns[4].any_unknown || cell.group <= 0;
  }
  times_ns_.push_back(time_ns);
  ++table_.rows;
  for (std::size_t i = keys_; i < table_.columns.size(); ++i) {
    TableColumn& column = table_.columns[i];
    if (column.is_double()) {
      column.rates.push_back(std::nan(""));
    } else {
      column.numbers.push_back(kNoNumber);
    }
  }
  // Rates are of what lies between the samples that stand for the edges, as in summaries.
  const bool inside = time_ns >= span.begin.sample_ns && time_ns <= span.end.sample_ns;
  std::vector<bool> seen(recorded_.size());
  for (const Place& place : places_) {
    Recorded& one = recorded_[place.recorded];
    const record::Value value = place.in_schema < rows.columns
                                    ? rows.at(place.in_schema, row)
                                    : record::unknown(record::State::kNotYet);
    put(one, value);
    seen[place.recorded] = true;
    if (!inside || one.rate.form == DerivedRate::Form::kNone) continue;
    const double cores = capacity_of(one, rows, row);
    one.no_capacity = !(cores > 0);
    put_rate(
        one, rising_[place.recorded],
        rising_[place.recorded].intervals.add(step, one.real ? real_steps(value) : value, cores));
  }
  for (std::size_t i = 0; i < recorded_.size(); ++i) {
    if (!seen[i]) put(recorded_[i], record::unknown(record::State::kNotSupported));
  }
}

void TableRows::put(Recorded& one, record::Value value) {
  TableColumn& column = table_.columns[one.column];
  if (const auto number = column.real ? record::number_of(true, value) : std::nullopt) {
    column.rates.back() = *number;
    return;
  }
  if (!column.real && record::is_known(value)) {
    column.numbers.back() = value;
    return;
  }
  if (one.unknown_rows++ == 0) one.first_unknown = value;
  column.any_unknown = true;
}

double TableRows::capacity_of(const Recorded& one, const record::Rows& rows,
                              std::size_t row) const {
  if (one.rate.form != DerivedRate::Form::kCapacityPercent) return 1;
  const auto place = capacities_.find(one.level());
  if (place != capacities_.end() && place->second < rows.columns) {
    const record::Value millicores = rows.at(place->second, row);
    if (millicores > 0) return static_cast<double>(millicores) / kMillicores;
  }
  const auto cores = cores_.find(one.level());
  return cores == cores_.end() ? 0 : cores->second;
}

void TableRows::put_rate(const Recorded& one, Rising& rising,
                         const std::optional<RateInterval>& interval) {
  if (!interval || one.rate.form == DerivedRate::Form::kNone) return;
  const double scale = one.real ? kRealStep : 1;
  const double number = rounded(number_of(one.rate.form, one.rate.within_100, *interval) * scale);
  std::vector<double>& rates = table_.columns[one.column + 1].rates;
  for (; rising.next_row < times_ns_.size(); ++rising.next_row) {
    const std::int64_t time_ns = times_ns_[rising.next_row];
    if (time_ns > interval->end_ns) break;
    if (time_ns > interval->begin_ns) rates[first_row_ + rising.next_row] = number;
  }
}

}  // namespace store
