#include "probe/cgroup_path.hpp"

#include <algorithm>

#include "probe/scan.hpp"

namespace probe {
namespace {

struct Line {
  std::string_view number;
  std::string_view controllers;
  std::string_view path;  // empty: it is no such line
};

Line split(std::string_view line) noexcept {
  const auto first = line.find(':');
  if (first == std::string_view::npos) return {};
  const auto second = line.find(':', first + 1);
  if (second == std::string_view::npos) return {};
  const std::string_view path = line.substr(second + 1);  // may hold more colons
  if (!path.starts_with('/')) return {};
  return {line.substr(0, first), line.substr(first + 1, second - first - 1), path};
}

}  // namespace

bool is_listed(std::string_view list, std::string_view name) noexcept {
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    if (word == name) return true;
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return false;
}

std::string_view parse_cgroup_v1(std::string_view text, std::string_view controller) noexcept {
  for (Scanner lines(text); !lines.done();) {
    const Line line = split(lines.line());
    if (!line.path.empty() && is_listed(line.controllers, controller)) return line.path;
  }
  return {};
}

std::string_view parse_cgroup_v2(std::string_view text) noexcept {
  for (Scanner lines(text); !lines.done();) {
    const Line line = split(lines.line());
    if (!line.path.empty() && line.number == "0" && line.controllers.empty()) return line.path;
  }
  return {};
}

}  // namespace probe
