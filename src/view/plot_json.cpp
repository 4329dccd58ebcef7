// Numbers have five digits that count: what a chart of a few hundred pixels can show, and a tenth
// more. Written by hand where there are many: nlohmann's are exact, and three times as long.

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "view/escape.hpp"
#include "view/plot.hpp"
#include "view/plot_words.hpp"

namespace view {
namespace {

constexpr std::size_t kMostName = 120;
constexpr std::size_t kMostCode = 120;
constexpr std::size_t kMostReason = 200;

class Writer {
 public:
  [[nodiscard]] std::string text() && { return std::move(out_); }

  void open(char bracket) {
    comma();
    out_ += bracket;
    fresh_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    fresh_ = false;
  }
  void key(std::string_view name) {
    comma();
    put(name);
    out_ += ':';
    fresh_ = true;
  }
  void text(std::string_view value) {
    comma();
    put(value);
  }
  void raw(std::string_view value) {
    comma();
    out_ += value;
  }
  void number(double value) {
    comma();
    put_number(value);
  }
  // Seconds to the microsecond: an edge must not move into its neighbour.
  void seconds(double value) {
    comma();
    if (!std::isfinite(value)) value = 0;
    fmt::format_to(std::back_inserter(out_), "{:.6f}", value);
    while (out_.back() == '0') out_.pop_back();
    if (out_.back() == '.') out_.pop_back();
  }
  void numbers(std::string_view name, const std::vector<double>& values, bool whole) {
    key(name);
    open('[');
    for (const double value : values) {
      comma();
      put_number(whole ? std::round(value) : value);
    }
    close(']');
  }

 private:
  void comma() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }
  void put(std::string_view value) {
    for (const char one :
         nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
      if (one == '<') {
        out_ += "\\u003c";
      } else {
        out_ += one;
      }
    }
  }
  void put_number(double value) {
    if (!std::isfinite(value)) {
      out_ += "null";
    } else if (value == 0) {
      out_ += '0';
    } else {
      fmt::format_to(std::back_inserter(out_), "{:.5g}", value);
    }
  }

  std::string out_;
  bool fresh_ = true;
};

void put_cell(Writer& out, const store::PlotCell& cell) {
  out.open('{');
  out.key("index");
  out.raw(std::to_string(cell.index));
  out.key("execution_count");
  out.raw(cell.execution_count ? std::to_string(*cell.execution_count) : "null");
  out.key("label");
  out.text(plot_label(cell));
  out.key("begin_s");
  out.seconds(cell.begin_s);
  out.key("end_s");
  if (cell.end_s) {
    out.seconds(*cell.end_s);
  } else {
    out.raw("null");
  }
  out.key("outcome");
  if (cell.outcome.empty()) {
    out.raw("null");
  } else {
    out.text(cell.outcome);
  }
  out.key("code");
  out.text(one_line(cell.code, kMostCode));
  out.close('}');
}

void put_panel(Writer& out, const store::PlotMetric& metric, const store::PlotPanel& panel) {
  out.key(panel.level);
  out.open('{');
  if (!panel.note.empty()) {
    out.key("note");
    out.text(one_line(panel.note, kMostName));
  }
  if (!panel.lines.empty()) {
    out.key("lines");
    out.open('[');
    for (const store::PlotLine& line : panel.lines) {
      out.open('{');
      out.key("label");
      out.text(line.label);
      out.key("value");
      out.number(line.value);
      out.close('}');
    }
    out.close(']');
  }
  if (panel.top) {
    out.key("max");
    out.number(*panel.top);
  }
  out.key("tracks");
  out.open('[');
  for (const store::PlotTrack& track : panel.tracks) {
    out.open('{');
    out.key("name");
    out.text(one_line(track.name, kMostName));
    if (!track.min.empty()) {
      out.numbers("min", track.min, metric.heat);
      out.numbers("max", track.max, metric.heat);
    }
    out.numbers("mean", track.mean, metric.heat);
    out.close('}');
  }
  out.close(']');
  out.close('}');
}

void put_words(Writer& out, std::string_view name, const std::vector<std::string>& words) {
  out.key(name);
  out.open('[');
  for (const std::string& word : words) out.text(word);
  out.close(']');
}

void put_metric(Writer& out, const store::PlotMetric& metric) {
  out.open('{');
  for (const auto& [name, value] : {std::pair("id", &metric.id), std::pair("title", &metric.title),
                                    std::pair("unit", &metric.unit)}) {
    out.key(name);
    out.text(*value);
  }
  out.key("colour");
  out.raw(fmt::format("{}", plot_colour(metric.id)));
  if (metric.heat) {
    out.key("heat");
    out.raw("true");
  }
  out.key("panels");
  out.open('{');
  for (const store::PlotPanel& panel : metric.panels) put_panel(out, metric, panel);
  out.close('}');
  out.close('}');
}

}  // namespace

std::string plot_label(const store::PlotCell& cell) {
  return cell.execution_count ? fmt::format("In [{}]", *cell.execution_count)
                              : fmt::format("#{}", cell.index);
}

std::string plot_json(const store::PlotData& data) {
  Writer out;
  out.open('{');
  out.key("version");
  out.raw("1");
  out.key("label");
  out.text(one_line(data.label, kMostName));
  out.key("host");
  out.text(one_line(data.host, kMostName));
  if (!data.group.empty()) {
    out.key("group");
    out.text(one_line(data.group, kMostName));
  }
  out.key("begin_wall_s");
  out.seconds(data.begin_wall_s);
  out.key("level");
  out.text(data.level);
  put_words(out, "levels", data.levels);
  put_words(out, "shown", data.shown);
  out.key("cut");
  out.raw(data.cut ? "true" : "false");
  out.key("edges_s");
  out.open('[');
  for (const double edge : data.edges_s) out.seconds(edge);
  out.close(']');
  out.key("cells");
  out.open('[');
  for (const store::PlotCell& cell : data.cells) put_cell(out, cell);
  out.close(']');
  out.key("gaps");
  out.open('[');
  for (const store::PlotGap& gap : data.gaps) {
    out.open('{');
    out.key("begin_s");
    out.seconds(gap.begin_s);
    out.key("end_s");
    out.seconds(gap.end_s);
    out.key("reason");
    out.text(one_line(gap.reason, kMostReason));
    out.close('}');
  }
  out.close(']');
  out.key("metrics");
  out.open('[');
  for (const store::PlotMetric& metric : data.metrics) put_metric(out, metric);
  out.close(']');
  out.close('}');
  return std::move(out).text();
}

}  // namespace view
