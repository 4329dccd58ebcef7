#include "probe/drm_tree.hpp"

#include <gtest/gtest.h>

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "actor.hpp"
#include "drm_host.hpp"

namespace probe {
namespace {

constexpr std::string_view kFirstSlot = "0000:c1:00.0";
constexpr std::string_view kSecondSlot = "0000:c6:00.0";
constexpr const char* kFirst = "/dev/dri/renderD128";
constexpr const char* kSecond = "/dev/dri/renderD129";

// A tree of processes on a host, looked at when the test says so.
struct Watched {
  explicit Watched(std::string_view kind) : host(kind) {}
  Watched& look(const std::vector<pid_t>& pids) {
    if (!tree) tree.emplace(host.root(), find_drm_cards(host.root()));
    tree->set_processes(pids);
    tree->round();
    return *this;
  }
  [[nodiscard]] std::int64_t memory(std::size_t card = 0) const {
    return tree->value(card, DrmTree::kCardMemory);
  }
  [[nodiscard]] std::int64_t main_memory(std::size_t card = 0) const {
    return tree->value(card, DrmTree::kMainMemory);
  }
  [[nodiscard]] std::int64_t busy(std::size_t card = 0) const {
    return tree->value(card, DrmTree::kBusy);
  }
  DrmHost host;
  std::optional<DrmTree> tree;
};

TEST(DrmTree, SumsTheClientsOfEachCard) {
  Watched at("amdgpu");
  at.host.open(20, 5, kFirst, amd_client(kFirstSlot, 1, 100, 0));
  at.host.open(20, 6, kSecond, amd_client(kSecondSlot, 2, 30, 0));
  at.host.open(21, 5, "/dev/dri/card1", amd_client(kFirstSlot, 3, 7, 0));
  at.host.open(99, 5, kFirst, amd_client(kFirstSlot, 9, 5000, 0));  // isn't ours
  at.look({20, 21});
  EXPECT_EQ(at.memory(0), 107 * 1024);
  EXPECT_EQ(at.memory(1), 30 * 1024);
  EXPECT_EQ(at.memory(2), 0);
  EXPECT_EQ(at.main_memory(0), 2 * 8192 * 1024);
  EXPECT_EQ(at.busy(0), 0);
  EXPECT_EQ(at.tree->bounds(0, DrmTree::kCardMemory), DrmTree::kExact);
}

TEST(DrmTree, CountsAClientOnceThatTwoProcessesAndManyDescriptorsHave) {
  Watched at("amdgpu");
  const std::string text = amd_client(kFirstSlot, 1, 100, 500);
  at.host.open(20, 5, kFirst, text);
  at.host.open(20, 9, kFirst, text);
  at.host.open(21, 5, kFirst, text);
  at.look({20, 21});
  EXPECT_EQ(at.memory(), 100 * 1024);
  at.host.end(20);
  at.look({20, 21});
  EXPECT_EQ(at.memory(), 100 * 1024);
}

TEST(DrmTree, KeepsTheTimeOfAClientThatEnds) {
  Watched at("amdgpu");
  at.host.open(20, 5, kFirst, amd_client(kFirstSlot, 1, 100, 500));
  at.look({20});
  at.host.open(20, 5, kFirst, amd_client(kFirstSlot, 1, 100, 1500));
  at.look({20});
  const std::int64_t before = at.busy();
  EXPECT_EQ(before, 1000);
  at.host.close(20, 5);
  at.look({20});
  EXPECT_EQ(at.memory(), 0);
  EXPECT_EQ(at.busy(), before);
  at.host.end(20);
  at.look({20});
  EXPECT_EQ(at.memory(), drm_unknown(DrmCause::kTreeGone));
  EXPECT_EQ(at.busy(), before);
}

TEST(DrmTree, ReadsOnlyDescriptorsOfItsCards) {
  Watched at("amdgpu");
  const std::string text = amd_client(kFirstSlot, 1, 100, 0);
  int number = 3;
  for (const char* target : {"/mnt/dev/dri/renderD128", "socket:[12]", "/dev/null", "/dev/dri",
                             "anon_inode:[eventfd]", "/dev/dri/card0"}) {
    at.host.open(20, number++, target, text);
  }
  at.look({20});
  EXPECT_EQ(at.memory(), 0);
  // Of a node that isn't listed (part of a divided card, or plugged in later) the text decides.
  at.host.open(20, number++, "/dev/dri/renderD150", text);
  at.host.open(20, number++, "/dev/dri/renderD151", amd_client("0000:ff:00.0", 2, 7, 0));
  at.host.open(20, number++, "/dev/dri/renderD152", "drm-driver: nvidia-drm\ndrm-client-id: 3\n");
  at.look({20});
  EXPECT_EQ(at.memory(), 100 * 1024);
}

TEST(DrmTree, KnowsAnIntegratedCardHasNoMemoryOfItsOwn) {
  Watched at("i915");
  at.host.open(20, 5, kFirst, i915_client(4, 0, 0));
  at.look({20});
  EXPECT_EQ(at.memory(), drm_unknown(DrmCause::kNoMemory));
  EXPECT_EQ(at.main_memory(), 4000 * 1024);
}

TEST(DrmTree, MeasuresAnArcCardByItsCycles) {
  Watched at("xe");
  at.host.open(20, 5, kFirst, xe_client(4, 0, 1'000'000'000));
  at.look({20});
  EXPECT_EQ(at.busy(), 0);
  const std::int64_t before_ns = base::monotonic_ns();
  burn(2 * kMilli);
  at.host.open(20, 5, kFirst, xe_client(4, 20'000, 1'000'040'000));  // half of one engine in four
  at.look({20});
  EXPECT_GT(at.busy(), kMilli / 8);
  EXPECT_LE(at.busy(), (base::monotonic_ns() - before_ns + 50 * kMilli) / 8);
  EXPECT_EQ(at.memory(), 23992 * 1024);
}

TEST(DrmTree, SaysWhatTheDriverDoesntTell) {
  Watched at("amdgpu");
  at.host.open(20, 5, kFirst, "pos:\t0\nflags:\t02100002\nmnt_id:\t27\n");  // Linux before 5.19
  at.look({20});
  EXPECT_EQ(at.memory(), drm_unknown(DrmCause::kUntold));
  EXPECT_EQ(at.busy(), drm_unknown(DrmCause::kUntold));
  EXPECT_EQ(at.memory(1), 0);
}

TEST(DrmTree, DoesntReadTheClientsOfACardThatSleeps) {
  Watched at("xe");
  at.host.open(20, 5, kFirst, xe_client(4, 0, 1000));
  at.look({20});
  at.host.write("sys/class/drm/card0/device/power/runtime_status", "suspended\n");
  at.host.open(20, 5, kFirst, xe_client(5, 1000, 2000));
  at.look({20});
  EXPECT_EQ(at.memory(), drm_unknown(DrmCause::kAsleep));
  EXPECT_EQ(at.busy(), 0);
}

TEST(DrmTree, CallsTimeUnknownThatRocmSpendsPastTheKernel) {
  Watched at("amdgpu");
  at.host.open(20, 5, kFirst, amd_client(kFirstSlot, 1, 100, 0));
  at.look({20});
  EXPECT_EQ(at.busy(), 0);
  at.host.open(20, 6, "/dev/kfd", "pos: 0\n");
  at.look({20});
  EXPECT_EQ(at.busy(), drm_unknown(DrmCause::kPastKernel));
  EXPECT_EQ(at.memory(), 100 * 1024);
  at.host.open(20, 5, kFirst, amd_client(kFirstSlot, 1, 100, 900));
  at.look({20});
  EXPECT_EQ(at.busy(), 900);
  EXPECT_EQ(at.tree->bounds(0, DrmTree::kBusy), DrmTree::kCompute);
  EXPECT_EQ(at.tree->bounds(0, DrmTree::kCardMemory), DrmTree::kExact);
}

TEST(DrmTree, SaysThatItIsALowerBoundWhereAProcessCantBeLookedAt) {
  Watched at("amdgpu");
  at.host.open(20, 5, kFirst, amd_client(kFirstSlot, 1, 100, 0));
  at.host.open(21, 5, kFirst, amd_client(kFirstSlot, 2, 900, 0));
  ASSERT_EQ(::chmod(at.host.root().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(at.host.path("proc/21/fd").c_str(), 0), 0);
  const int before = ::setfsuid(65534);
  at.look({20, 21});
  const std::int64_t memory = at.memory();
  const unsigned bounds = at.tree->bounds(0, DrmTree::kCardMemory);
  at.look({21});
  ::setfsuid(static_cast<uid_t>(before));
  EXPECT_EQ(memory, 100 * 1024);
  EXPECT_EQ(bounds, DrmTree::kRefused);
  EXPECT_EQ(at.memory(), drm_unknown(DrmCause::kTreeRefused));  // never 0
  EXPECT_EQ(at.busy(), drm_unknown(DrmCause::kTreeRefused));
}

TEST(DrmTree, LooksAtSoManyProcessesAndDescriptorsAtMost) {
  Watched at("amdgpu");
  at.host.open(20, 5, kFirst, amd_client(kFirstSlot, 1, 100, 0));
  std::vector<pid_t> pids(kMostDrmProcesses, 4'000'000);  // there is none
  pids.back() = 20;
  at.look(pids);
  EXPECT_EQ(at.memory(), 100 * 1024);
  EXPECT_EQ(at.tree->bounds(0, DrmTree::kBusy), DrmTree::kExact);
  pids.insert(pids.begin(), 4'000'000);
  at.look(pids);
  EXPECT_EQ(at.tree->bounds(0, DrmTree::kBusy), DrmTree::kCut);

  for (int number = 100; number < 100 + static_cast<int>(kMostDrmDescriptors); ++number) {
    std::filesystem::create_symlink("/dev/null",
                                    at.host.path("proc/20/fd/" + std::to_string(number)));
  }
  at.look({20});
  EXPECT_EQ(at.tree->bounds(0, DrmTree::kBusy), DrmTree::kCut);
}

TEST(DrmTree, KnowsNothingBeforeItIsToldWhoseUseCounts) {
  const DrmHost host("amdgpu");
  DrmTree tree(host.root(), find_drm_cards(host.root()));
  tree.round();
  EXPECT_EQ(tree.value(0, DrmTree::kCardMemory), drm_unknown(DrmCause::kNotYet));
  EXPECT_EQ(tree.value(0, DrmTree::kBusy), drm_unknown(DrmCause::kNotYet));
}

// On this machine's /proc: a process of root's without privileges to look at it, and this one.
TEST(DrmTree, LooksAtRealProcesses) {
  const DrmHost host("amdgpu");
  DrmScan scan("/", find_drm_cards(host.root()));
  DrmClients clients(8);
  const std::vector<pid_t> own{::getpid(), 0x3fffffff};
  const auto notes = scan.run(own, clients);
  EXPECT_EQ(notes.processes, 1U);
  EXPECT_EQ(notes.refused, 0U);
  const int before = ::setfsuid(65534);
  const auto refused = scan.run(std::vector<pid_t>{1}, clients);
  ::setfsuid(static_cast<uid_t>(before));
  EXPECT_EQ(refused.processes, 1U);
  EXPECT_EQ(refused.refused, 1U);
}

TEST(DrmInbox, HandsOverTheNewestListAndNeverWaits) {
  DrmInbox inbox;
  std::vector<pid_t> pids;
  EXPECT_FALSE(inbox.take(pids));
  inbox.put(std::vector<pid_t>{1, 2, 3});
  ASSERT_TRUE(inbox.take(pids));
  EXPECT_EQ(pids, (std::vector<pid_t>{1, 2, 3}));
  inbox.put({});
  ASSERT_TRUE(inbox.take(pids));
  EXPECT_TRUE(pids.empty());
  inbox.put(std::vector<pid_t>(5000, 7));
  ASSERT_TRUE(inbox.take(pids));
  EXPECT_EQ(pids.size(), kMostDrmProcesses + 1);

  // Two threads: a list is never half of one and half of another.
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (pid_t i = 1; !stop; ++i) inbox.put(std::vector<pid_t>(100, i));
  });
  bool whole = true;
  for (int seen = 0; seen < 2000;) {
    if (!inbox.take(pids)) continue;
    ++seen;
    for (const pid_t pid : pids) whole = whole && pid == pids.front();
  }
  stop = true;
  writer.join();
  EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace probe
