#include "view/stack_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/clock.hpp"
#include "view/cell_files.hpp"
#include "view/escape.hpp"

namespace view {
namespace {

constexpr std::size_t kMostLines = 12'000;  // a hostile recording's may be any number
constexpr std::size_t kMostLineBytes = 4000;
constexpr std::string_view kIndent = "  ";

// A frame ends with what tells most: the file's own name, the line, the function.
std::string fitted(std::string line, std::size_t columns) {
  constexpr std::string_view kLeft = "  …";
  if (!line.starts_with(kIndent) || width(line) <= columns || columns <= width(kLeft)) {
    return one_line(line, columns);
  }
  std::size_t begin = line.size();
  for (std::size_t left = columns - width(kLeft); left > 0; --left) {
    do {
      --begin;
    } while ((static_cast<unsigned char>(line[begin]) & 0xC0U) == 0x80);
  }
  return std::string(kLeft) + line.substr(begin);
}

// One thread's frames, with all that is around its outermost cell in one line.
class Frames {
 public:
  void add(const std::string& line, const std::string& shown) {
    if (shown != line && shown.ends_with(" in <module>")) cell_ = lines_.size() + 1;
    lines_.push_back(shown);
  }
  void move_to(std::vector<std::string>& lines, std::size_t columns) {
    const std::size_t around = cell_ == 0 ? 0 : lines_.size() - cell_;
    if (around > 1) {
      lines_.resize(cell_);
      lines_.push_back(fmt::format("  … {} more of what runs the cell", around));
    }
    for (std::string& line : lines_) lines.push_back(fitted(std::move(line), columns));
    lines_.clear();
    cell_ = 0;
  }

 private:
  std::vector<std::string> lines_;
  std::size_t cell_ = 0;  // how many lines up to the outermost cell's; 0: there is none
};

}  // namespace

std::vector<std::string> stack_lines(const store::Recording& recording, std::size_t columns) {
  if (!recording.stacks()) return {};
  const record::Stacks& stacks = *recording.stacks();
  std::vector<std::string> lines{one_line(
      fmt::format("stacks at {}", base::local_time(recording.wall_ns(stacks.time_ns))), columns)};
  CellNames names(recording);
  Frames frames;
  std::string_view text = stacks.text;
  for (std::size_t count = 0; !text.empty() && count < kMostLines; ++count) {
    const std::size_t end = text.find('\n');
    const std::string line = one_line(text.substr(0, end), kMostLineBytes);
    if (!line.starts_with(kIndent)) frames.move_to(lines, columns);
    frames.add(line, names.shown(line));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  frames.move_to(lines, columns);
  return lines;
}

}  // namespace view
