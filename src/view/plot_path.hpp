#pragma once
// The `d` of an SVG path in as few bytes as it takes: relative coordinates in tenths of a pixel.

#include <string>

namespace view {

class PlotPath {
 public:
  void move(double x, double y);
  void line(double x, double y);
  // A closed rectangle.
  void box(double x, double y, double width, double height);
  void close();
  [[nodiscard]] bool empty() const noexcept { return out_.empty(); }
  [[nodiscard]] const std::string& text() const noexcept { return out_; }

 private:
  void put(char command, long x, long y);
  void put(long value);
  long x_ = 0;  // in tenths, where the path is
  long y_ = 0;
  long start_x_ = 0;  // of the part that close() closes
  long start_y_ = 0;
  std::string out_;
  char last_ = 0;
};

}  // namespace view
