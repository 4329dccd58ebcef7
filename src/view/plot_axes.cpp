#include "view/plot_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.hpp"
#include "view/units.hpp"

namespace view {
namespace {

constexpr double kLeastShare = 0.25;  // of the natural top, for it to be the axis's end
constexpr double kMostCut = 0.2;      // of the width, for all cuts together
constexpr double kCutWidth = 14;
constexpr double kTickWidth = 74;  // from label to label
constexpr double kClockFrom_s = 600;
constexpr std::array kTimeSteps_s{1e-3, 2e-3, 5e-3,  0.01,  0.02,  0.05,   0.1,    0.2,    0.5,
                                  1.0,  2.0,  5.0,   10.0,  15.0,  30.0,   60.0,   120.,   300.,
                                  600., 900., 1800., 3600., 7200., 10800., 21600., 43200., 86400.};

// The next of 1, 2, 5, 10, … (of bytes: 1, 2, 4, 8, …, 512 of a unit) that isn't below `least`.
double round_step(double least, bool bytes) {
  if (!(least > 0) || !std::isfinite(least)) return 1;
  if (bytes) return std::exp2(std::ceil(std::log2(least) - 1e-9));
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::string axis_text(double value, std::string_view unit) {
  if (unit != "%" && unit != "B" && unit != "B/s") return value_text(value, unit);
  if (unit == "%") return fmt::format("{:.3g} %", value);
  // Round numbers need no digits behind the point.
  std::string text = bytes_text(value);
  const std::size_t point = text.find('.');
  const std::size_t space = text.find(' ');
  if (point < space) {
    std::size_t last = space;
    while (text[last - 1] == '0') --last;
    if (text[last - 1] == '.') --last;
    text.erase(last, space - last);
  }
  return unit == "B/s" ? text + "/s" : text;
}

std::string clock_text(double wall_s, bool with_seconds) {
  const std::string text = base::local_time(static_cast<std::int64_t>(std::llround(wall_s * 1e9)));
  constexpr std::size_t kHour = 11;  // "2026-11-29 15:47:32"
  return text.substr(kHour, with_seconds ? 8 : 5);
}

std::string elapsed_text(double time_s, double step_s, double all_s) {
  if (all_s < 120) {
    if (step_s < 0.01) return fmt::format("{:.0f} ms", time_s * 1e3);
    if (step_s < 0.1) return fmt::format("{:.2f} s", time_s);
    return step_s < 1 ? fmt::format("{:.1f} s", time_s) : fmt::format("{:.0f} s", time_s);
  }
  const auto whole = static_cast<long>(std::lround(time_s));
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

}  // namespace

ValueAxis::ValueAxis(double highest, double top, std::string_view unit) {
  constexpr double kRoom = 1.02;
  if (!std::isfinite(highest) || highest < 0) highest = 0;
  const bool bytes = unit.starts_with('B');
  double step = 0;
  if (top > 0 && highest >= kLeastShare * top) {
    step = top / 2;
    top_ = std::max(top, highest);
  } else {
    // Two or three steps, whichever leaves less room above.
    const double least = std::max(highest * kRoom, unit.empty() ? 2 : bytes ? 1024.0 : 1e-3);
    const double two = round_step(least / 2, bytes);
    const double three = round_step(least / 3, bytes);
    step = two * 2 <= three * 3 ? two : three;
    top_ = step * (two * 2 <= three * 3 ? 2 : 3);
  }
  for (int i = 0; step * i <= top_ * (1 + 1e-9); ++i) {
    ticks_.push_back({step * i, i == 0 ? "0" : axis_text(step * i, unit)});
  }
}

TimeAxis::TimeAxis(const store::PlotData& data, double left, double right)
    : begin_wall_s_(data.begin_wall_s), left_(left), right_(right) {
  const double begin_s = data.edges_s.front();
  const double end_s = data.edges_s.back();
  if (data.cut) {
    double cells_s = 0;
    for (const store::PlotCell& cell : data.cells) {
      cells_s += cell.end_s.value_or(end_s) - cell.begin_s;
    }
    // What would take no more room than its cut stays as it is.
    const double least_s = cells_s * kCutWidth / std::max(right - left, 1.0);
    double at_s = begin_s;
    for (const store::PlotCell& cell : data.cells) {
      if (cell.begin_s > at_s) {
        if (at_s > begin_s && cell.begin_s - at_s > least_s) {
          pieces_.push_back({at_s, cell.begin_s, 0, 0, true});
          at_s = cell.begin_s;
        }
      }
      const double to_s = std::min(cell.end_s.value_or(end_s), end_s);
      if (to_s <= at_s) continue;
      if (!pieces_.empty() && !pieces_.back().cut) {
        pieces_.back().end_s = to_s;
      } else {
        pieces_.push_back({at_s, to_s, 0, 0, false});
      }
      at_s = to_s;
    }
    if (!pieces_.empty() && pieces_.back().cut) pieces_.pop_back();
  }
  if (pieces_.empty()) pieces_.push_back({begin_s, end_s, 0, 0, false});
  double shown_s = 0;
  double cuts = 0;
  for (const Piece& piece : pieces_) {
    shown_s += piece.cut ? 0 : piece.end_s - piece.begin_s;
    cuts += piece.cut ? 1 : 0;
  }
  const double width = right - left;
  const double cut_width = cuts > 0 ? std::min(kCutWidth, kMostCut * width / cuts) : 0;
  double at = left;
  for (Piece& piece : pieces_) {
    piece.left = at;
    at += piece.cut ? cut_width
                    : (width - cuts * cut_width) * (piece.end_s - piece.begin_s) /
                          std::max(shown_s, 1e-9);
    piece.right = at;
    if (piece.cut) cuts_.push_back((piece.left + piece.right) / 2);
  }
}

const TimeAxis::Piece& TimeAxis::piece_at(double time_s) const noexcept {
  const auto behind = std::partition_point(
      pieces_.begin(), pieces_.end(), [time_s](const Piece& one) { return one.end_s <= time_s; });
  return behind == pieces_.end() ? pieces_.back() : *behind;
}

double TimeAxis::place(double time_s) const noexcept {
  const Piece& piece = piece_at(time_s);
  const double length_s = std::max(piece.end_s - piece.begin_s, 1e-9);
  return std::clamp(piece.left + (piece.right - piece.left) * (time_s - piece.begin_s) / length_s,
                    left_, right_);
}

bool TimeAxis::is_cut(double time_s) const noexcept { return piece_at(time_s).cut; }

std::vector<Tick> TimeAxis::ticks() const {
  double shown_s = 0;
  for (const Piece& piece : pieces_) shown_s += piece.cut ? 0 : piece.end_s - piece.begin_s;
  const double wanted_s = shown_s * kTickWidth / std::max(right_ - left_, 1.0);
  const auto found =
      std::ranges::find_if(kTimeSteps_s, [&](double one) { return one >= wanted_s; });
  const double step_s = found == kTimeSteps_s.end() ? kTimeSteps_s.back() : *found;
  const bool clock = !cuts_.empty() || shown_s > kClockFrom_s;
  const double offset_s = clock ? begin_wall_s_ : 0;
  const bool with_seconds = step_s < 60 || !cuts_.empty();
  std::vector<Tick> ticks;
  const auto add = [&](double time_s, double at) {
    if (!ticks.empty() && at - ticks.back().at < kTickWidth * 0.8) return;
    ticks.push_back({at, clock ? clock_text(begin_wall_s_ + time_s, with_seconds)
                               : elapsed_text(time_s, step_s, shown_s)});
  };
  for (const Piece& piece : pieces_) {
    if (piece.cut) continue;
    if (clock && !cuts_.empty()) add(piece.begin_s, piece.left);
    const double first = std::ceil((piece.begin_s + offset_s) / step_s - 1e-9);
    for (int i = 0;; ++i) {
      const double time_s = (first + i) * step_s - offset_s + 0.0;  // never -0
      if (time_s > piece.end_s + 1e-9) break;
      add(time_s, piece.left + (piece.right - piece.left) * (time_s - piece.begin_s) /
                                   std::max(piece.end_s - piece.begin_s, 1e-9));
    }
  }
  return ticks;
}

}  // namespace view
