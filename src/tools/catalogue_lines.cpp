// `jumper sample --list`: the catalogue as lines.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "tools/catalogue.hpp"
#include "view/escape.hpp"

namespace tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostReason = 200;

struct Metric {
  const record::Column& column;
  const SourceEntry& source;
  bool first = false;  // of its source
  std::string state;
};

std::vector<Metric> metrics_of(const Catalogue& catalogue) {
  std::vector<Metric> metrics;
  metrics.reserve(catalogue.columns.size());
  for (const SourceEntry& source : catalogue.sources) {
    const std::size_t end = std::min(source.first + source.number, catalogue.columns.size());
    for (std::size_t i = source.first; i < end; ++i) {
      const record::Column& column = catalogue.columns[i];
      const record::Missing* reason = find_reason(catalogue.missing, column.name);
      metrics.push_back(
          {column, source, i == source.first, state_text(catalogue.values[i], reason)});
    }
  }
  return metrics;
}

const char* kind_word(record::Kind kind) noexcept {
  return kind == record::Kind::kCounter ? "counter" : "gauge";
}

Json cost_json(std::int64_t cost_ns) {
  return cost_ns < 0 ? Json(nullptr) : Json(static_cast<double>(cost_ns) / 1000.0);
}

std::string metric_json(const Metric& metric) {
  const Json json{{"name", metric.column.name},
                  {"unit", unit_of(metric.column.name)},
                  {"kind", kind_word(metric.column.kind)},
                  {"level", level_of(metric.column.name)},
                  {"source", metric.source.name},
                  {"origin", metric.source.origin},
                  {"source_cost_us", cost_json(metric.source.cost.part_ns)},
                  {"source_full_cost_us", cost_json(metric.source.cost.full_ns)},
                  {"state", metric.state}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// "12 µs", or when a full read costs more "12 (of all: 40) µs".
std::string cost_text(const Cost& cost) {
  if (cost.part_ns < 0) return "?";
  const auto us = [](std::int64_t ns) {
    return ns < 10'000 ? fmt::format("{:.1f}", static_cast<double>(ns) / 1000.0)
                       : fmt::format("{:.0f}", static_cast<double>(ns) / 1000.0);
  };
  if (cost.full_ns <= cost.part_ns + cost.part_ns / 4) return us(cost.part_ns) + " µs";
  return fmt::format("{}, full {} µs", us(cost.part_ns), us(cost.full_ns));
}

using Line = std::array<std::string, 7>;

Line metric_line(const Metric& metric) {
  return {metric.column.name,
          std::string(unit_of(metric.column.name)),
          kind_word(metric.column.kind),
          std::string(level_of(metric.column.name)),
          metric.source.name,
          metric.first ? cost_text(metric.source.cost) : "",
          view::one_line(metric.state, kMostReason)};
}

std::vector<std::string> lines_of(const std::vector<Metric>& metrics) {
  std::vector<Line> rows{{"metric", "unit", "kind", "level", "source", "its cost", "now"}};
  for (const Metric& metric : metrics) rows.push_back(metric_line(metric));
  std::array<std::size_t, std::tuple_size_v<Line>> widths{};
  for (const Line& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], view::width(row[i]));
    }
  }
  std::vector<std::string> lines;
  for (const Line& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) line += view::padded(row[i], widths[i] + 2);
    lines.push_back(line + row.back() + "\n");
  }
  return lines;
}

std::vector<std::string> source_lines(const Catalogue& catalogue) {
  std::vector<std::string> lines{"\nsources, and what one read costs (median CPU time)\n"};
  std::size_t widest = 0;
  for (const SourceEntry& source : catalogue.sources) {
    widest = std::max(widest, view::width(source.name));
  }
  for (const SourceEntry& source : catalogue.sources) {
    lines.push_back(fmt::format("  {}{}{}\n", view::padded(source.name, widest + 2),
                                view::padded(cost_text(source.cost), 24), source.origin));
  }
  return lines;
}

}  // namespace

int print_catalogue(const probe::SamplerOptions& options, bool json) {
  ::signal(SIGPIPE, SIG_IGN);  // a reader that has seen enough is no failure
  Catalogue catalogue = look(options);
  measure_costs(options, catalogue);
  const std::vector<Metric> metrics = metrics_of(catalogue);
  std::vector<std::string> lines;
  if (json) {
    for (const Metric& metric : metrics) lines.push_back(metric_json(metric));
  } else {
    lines = lines_of(metrics);
    const auto more = source_lines(catalogue);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  for (const std::string& line : lines) {
    if (!base::write_all(STDOUT_FILENO, line)) return errno == EPIPE ? 0 : 1;
  }
  return 0;
}

}  // namespace tools
