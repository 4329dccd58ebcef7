#include "probe/listing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "actor.hpp"
#include "host_tree.hpp"

namespace probe {
namespace {

pid_t parent_in(const Listing& listing, pid_t pid) {
  const auto entries = listing.entries();
  const auto found = std::ranges::find(entries, pid, &Listing::Entry::pid);
  return found == entries.end() ? -2 : found->parent;
}

TEST(Listing, AsksOnlyNewProcessesForTheirParent) {
  const HostTree host;
  host.write_process(1, 0);
  host.write_process(30, 1);
  host.write_process(7, 30);
  const ProcDirectory proc(host.root());
  Listing listing(proc);
  std::vector<char> buffer(1 << 15);
  EXPECT_TRUE(listing.refresh(buffer, false));
  EXPECT_EQ(listing.processes(), 3);
  EXPECT_EQ(parent_in(listing, 7), 30);
  host.write_process(7, 1);  // nobody looks
  EXPECT_FALSE(listing.refresh(buffer, true));
  EXPECT_EQ(parent_in(listing, 7), 30);
  host.write_process(8, 7);
  EXPECT_TRUE(listing.refresh(buffer, false));
  EXPECT_EQ(parent_in(listing, 8), 7);
}

TEST(Listing, AsksAgainWhenTheParentIsGone) {
  const HostTree host;
  host.write_process(1, 0);
  host.write_process(30, 1);
  host.write_process(7, 30);
  const ProcDirectory proc(host.root());
  Listing listing(proc);
  std::vector<char> buffer(1 << 15);
  listing.refresh(buffer, false);
  std::filesystem::remove_all(host.root() + "/proc/30");
  host.write_process(7, 1);
  EXPECT_FALSE(listing.refresh(buffer, false));
  EXPECT_TRUE(listing.refresh(buffer, true));
  EXPECT_EQ(parent_in(listing, 7), 1);
}

TEST(Listing, DoesNotCountWhereOnlySomeProcessesShow) {
  const HostTree host;
  host.write_process(30, 1);
  const ProcDirectory proc(host.root());
  Listing listing(proc);
  EXPECT_FALSE(listing.processes());
  std::vector<char> buffer(1 << 15);
  listing.refresh(buffer, false);
  EXPECT_FALSE(listing.processes());
}

TEST(Listing, SeesARealProcessWithItsParent) {
  const Actor actor([](const Cue& cue) {
    cue.tell(0);
    cue.stay();
  });
  actor.heard();
  const ProcDirectory proc("/");
  Listing listing(proc);
  std::vector<char> buffer(1 << 15);
  listing.refresh(buffer, false);
  EXPECT_EQ(parent_in(listing, actor.pid()), ::getpid());
  EXPECT_EQ(parent_in(listing, ::getpid()), ::getppid());
}

}  // namespace
}  // namespace probe
