#pragma once
// Groups of cells: which there are, and which cell is in which.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/records.hpp"

namespace store {

struct Cell;

struct Group {
  std::int64_t index = 0;  // g1, g2, …
  std::string name;        // the user's; may be empty
  std::int64_t begin_ns = 0;
  std::optional<std::int64_t> end_ns;  // absent while it is open, and for ever when the kernel died
  bool dropped = false;                // it has no cells
  record::EngineTimes engine = {};     // where its cells ran in one
};

// "g2", or with its name "g2 train".
std::string group_name(const Group& group);

// Takes a step of a group in, in any order and as often as it comes: a mark that was sent again
// says the same. Steps of a group whose begin isn't here, and what is more than kMostGroups, are
// passed over.
inline constexpr std::size_t kMostGroups = 1U << 16;
void take_step(record::Group step, std::vector<Group>& groups);

// Says of each cell which group it is in (0: none).
void assign_groups(const std::vector<Group>& groups, std::vector<Cell>& cells);

// The cells of one group, in the order of the history.
std::vector<Cell> cells_of(std::int64_t group, const std::vector<Cell>& cells);

}  // namespace store
