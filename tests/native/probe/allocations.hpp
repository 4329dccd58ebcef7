#pragma once
// How often this thread has allocated memory with new, so that a test can say: this makes none.

#include <cstdint>

namespace probe {

std::int64_t allocations();

}  // namespace probe
