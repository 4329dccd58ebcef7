#include "view/plot_path.hpp"

#include <cmath>

namespace view {
namespace {

long tenths(double value) noexcept { return std::lround(value * 10); }

}  // namespace

void PlotPath::put(long value) {
  const bool digit_before = !out_.empty() && ((out_.back() >= '0' && out_.back() <= '9'));
  if (value < 0) {
    out_ += '-';
    value = -value;
  } else if (digit_before) {
    out_ += ' ';
  }
  if (value >= 10 || value == 0) out_ += std::to_string(value / 10);
  if (value % 10 != 0) {
    out_ += '.';
    out_ += static_cast<char>('0' + value % 10);
  }
}

void PlotPath::put(char command, long x, long y) {
  const long dx = x - x_;
  const long dy = y - y_;
  if (command == 'l' && dx == 0 && dy == 0) return;
  const char shorter = command == 'l' && dy == 0 ? 'h' : command == 'l' && dx == 0 ? 'v' : command;
  if (shorter != last_ || command == 'm') out_ += shorter;
  if (shorter != 'v') put(dx);
  if (shorter != 'h') put(dy);
  last_ = shorter;
  x_ = x;
  y_ = y;
}

void PlotPath::move(double x, double y) {
  put('m', tenths(x), tenths(y));
  start_x_ = x_;
  start_y_ = y_;
}

void PlotPath::line(double x, double y) { put('l', tenths(x), tenths(y)); }

void PlotPath::box(double x, double y, double width, double height) {
  const long left = tenths(x);
  const long top = tenths(y);
  move(x, y);
  put('l', tenths(x + width), top);
  put('l', tenths(x + width), tenths(y + height));
  put('l', left, tenths(y + height));
  close();
}

void PlotPath::close() {
  out_ += 'z';
  last_ = 'z';
  x_ = start_x_;
  y_ = start_y_;
}

}  // namespace view
