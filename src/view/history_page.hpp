#pragma once
// The history as the interactive page takes it (frontend/src/history.js).

#include <cstddef>
#include <string>
#include <vector>

#include "view/history.hpp"

namespace view {

// {"version": 1, "kind": "history", "cells": [{"index", "execution_count", "begin", "duration_s",
// "cpu_percent", "memory_bytes", "io_bytes", "gpu_percent", "outcome", "code", "is_cut"}]}: figures
// of the process tree (of a card when the tree's are unknown), null where unknown; of each cell's
// code the first `most_code` bytes, never part of a character.
std::string history_page_json(const std::vector<HistoryRow>& rows, std::size_t most_code = 4000);

}  // namespace view
