#include "store/groups.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "store/recording.hpp"

namespace store {

std::string group_name(const Group& group) {
  std::string name = "g" + std::to_string(group.index);
  if (!group.name.empty()) name.append(" ").append(group.name);
  return name;
}

void take_step(record::Group step, std::vector<Group>& groups) {
  const auto place = std::ranges::lower_bound(groups, step.index, {}, &Group::index);
  const bool is_known = place != groups.end() && place->index == step.index;
  if (step.step == record::GroupStep::kBegun) {
    if (is_known || groups.size() >= kMostGroups) return;
    step.name.resize(std::min(step.name.size(), record::kMostGroupNameBytes));
    groups.insert(place, {step.index, std::move(step.name), step.time_ns, std::nullopt, false, {}});
  } else if (is_known && !place->end_ns) {
    place->end_ns = step.time_ns;
    place->dropped = step.step == record::GroupStep::kDropped;
    place->engine = step.engine;
  }
}

void assign_groups(const std::vector<Group>& groups, std::vector<Cell>& cells) {
  // By their begin: of a hostile file they may come in any order.
  std::vector<const Group*> by_begin;
  for (const Group& group : groups) {
    if (!group.dropped) by_begin.push_back(&group);
  }
  std::ranges::stable_sort(by_begin, {}, &Group::begin_ns);
  for (Cell& cell : cells) {
    cell.group = 0;
    const auto after = std::ranges::upper_bound(by_begin, cell.begin.time_ns, {}, &Group::begin_ns);
    if (after == by_begin.begin()) continue;
    const Group& group = **std::prev(after);
    const bool is_inside =
        !group.end_ns || (cell.end ? cell.end->time_ns : cell.begin.time_ns) <= *group.end_ns;
    // The cell that ends the group is still running then.
    const bool is_over = !group.end_ns || cell.end;
    if (is_inside && is_over) cell.group = group.index;
  }
}

std::vector<Cell> cells_of(std::int64_t group, const std::vector<Cell>& cells) {
  std::vector<Cell> found;
  std::ranges::copy_if(cells, std::back_inserter(found),
                       [&](const Cell& cell) { return cell.group == group; });
  return found;
}

}  // namespace store
