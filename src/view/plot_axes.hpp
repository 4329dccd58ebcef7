#pragma once
// Where times and values stand in a picture, and what is written beside its axes.

#include <string>
#include <string_view>
#include <vector>

#include "store/plot_data.hpp"

namespace view {

struct Tick {
  double at = 0;  // a value, or a place in the picture
  std::string text;
};

// From 0 up to a round number that holds `highest`.
class ValueAxis {
 public:
  // `top`: its natural end, taken where the values reach a quarter of it; 0: none.
  ValueAxis(double highest, double top, std::string_view unit);
  [[nodiscard]] double top() const noexcept { return top_; }
  [[nodiscard]] const std::vector<Tick>& ticks() const noexcept { return ticks_; }

 private:
  double top_ = 1;
  std::vector<Tick> ticks_;
};

// The time of a plot from left to right; the time between cells takes little room where it is cut.
class TimeAxis {
 public:
  TimeAxis(const store::PlotData& data, double left, double right);

  [[nodiscard]] double place(double time_s) const noexcept;
  // Lies in time that is cut out.
  [[nodiscard]] bool is_cut(double time_s) const noexcept;
  // The middles of the cuts.
  [[nodiscard]] const std::vector<double>& cuts() const noexcept { return cuts_; }
  // What fits: seconds, minutes, or the time of day.
  [[nodiscard]] std::vector<Tick> ticks() const;

 private:
  struct Piece {
    double begin_s = 0, end_s = 0;
    double left = 0, right = 0;
    bool cut = false;
  };
  [[nodiscard]] const Piece& piece_at(double time_s) const noexcept;

  double begin_wall_s_;
  double left_, right_;
  std::vector<Piece> pieces_;
  std::vector<double> cuts_;
};

}  // namespace view
