// Trees of a thousand processes, of depth 200, with ten thousand short-lived ones a second.

#include <iostream>

#include "tree_plays.hpp"

namespace probe {
namespace {

// Fault: P7
TEST(LargeTrees, OfAThousandProcessesAreCounted) { watch_large_tree(999, 1); }

// Fault: P7
TEST(LargeTrees, OfDepthTwoHundredAreCounted) { watch_large_tree(1, 200); }

// Fault: P7
TEST(LargeTrees, ThatStartTenThousandProcessesASecondAreCounted) {
  for (int i = 0; i < 3; ++i) {
    const double rate = watch_short_lived(4, 2000);
    std::cout << rate << " processes a second\n";
  }
}

// Fault: P7
TEST(LargeTrees, WithThousandsOfOrphansAreNotCountedTwice) { watch_short_lived_orphans(3000); }

}  // namespace
}  // namespace probe
