// Large and restless trees, as far as a short test can: the large ones are in trees_long_test.cpp.

#include "tree_plays.hpp"

namespace probe {
namespace {

// Fault: P7
TEST(Trees, OfTwoHundredAndOfDepthFiftyAreCounted) { watch_large_tree(150, 50); }

// Fault: P7
TEST(Trees, ThatStartThousandsOfShortLivedProcessesASecondAreCounted) { watch_short_lived(2, 300); }

// Fault: P7
TEST(Trees, WithShortLivedOrphansAreNotCountedTwice) { watch_short_lived_orphans(100); }

}  // namespace
}  // namespace probe
