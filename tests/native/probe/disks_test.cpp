#include "probe/disks.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "base/file.hpp"
#include "host_tree.hpp"

namespace probe {
namespace {

using Names = std::vector<std::string>;

TEST(Disk, ReadsItsCounters) {
  const auto found = parse_disk(
      " 254       0 vda 1189022 246593 275559666 11864325 1134514 424040 94164144 1111078 3 403752 "
      "13072562 352073 31 75562568 67254 299931 29904");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "vda");
  EXPECT_EQ(found->counts[kDiskReadOps], 1189022);
  EXPECT_EQ(found->counts[kDiskReadBytes], 275559666LL * 512);
  EXPECT_EQ(found->counts[kDiskWriteOps], 1134514);
  EXPECT_EQ(found->counts[kDiskWriteBytes], 94164144LL * 512);
  EXPECT_EQ(found->counts[kDiskBusyNs], 403752LL * 1'000'000);
}

TEST(Disk, IsNoneOfWhatIsNotWhole) {
  EXPECT_FALSE(parse_disk(""));
  EXPECT_FALSE(parse_disk(" 254 0"));
  EXPECT_FALSE(parse_disk(" 254 0 vda 1 2 3 4 5 6 7 8 9"));
  EXPECT_FALSE(parse_disk(" x 0 vda 1 2 3 4 5 6 7 8 9 10"));
  EXPECT_FALSE(parse_disk(" 254 0 vda 1 2 99999999999999999 4 5 6 7 8 9 10"));
  EXPECT_TRUE(parse_disk(" 254 0 vda 1 2 3 4 5 6 7 8 9 10"));
}

TEST(Disks, AreWholeAndStandOnNoOther) {
  const Disks server(JUMPER_TEST_DATA "/hosts/made/server");
  EXPECT_EQ(server.counted(), (Names{"nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1", "nvme4n1",
                                     "nvme5n1", "nvme6n1", "nvme7n1", "sda", "sdb", "sr0"}));
  std::int64_t ops = 12 + 20'000 + 20'001;
  for (int i = 0; i < 8; ++i) ops += 1'000'000 + 1000 * i;
  EXPECT_EQ(server.totals()[kDiskReadOps], ops);
  EXPECT_EQ(server.totals()[kDiskReadBytes], ops * 64 * 512);
  EXPECT_EQ(server.totals()[kDiskWriteOps], ops * 2);
  EXPECT_EQ(server.totals()[kDiskWriteBytes], ops * 96 * 512);
}

TEST(Disks, AreToldByTheirNamesWithoutSysfs) {
  const Disks container(JUMPER_TEST_DATA "/hosts/made/container");
  EXPECT_EQ(container.counted(), (Names{"xvda1", "nvme0n1", "sda", "sdb11"}));
  EXPECT_EQ(container.totals()[kDiskReadOps], 1000 + 300 + 7 + 5);
}

TEST(Disks, LeaveOutWhatStandsOnOthersByWhateverName) {
  const HostTree host;
  host.write("proc/diskstats",
             "8 0 sda 1 0 8 0 1 0 8 0 0 1 1\n9 0 newcache0 1 0 8 0 1 0 8 0 0 1 1\n"
             "104 0 cciss/c0d0 1 0 8 0 1 0 8 0 0 1 1\n104 1 cciss/c0d0p1 1 0 8 0 1 0 8 0 0 1 1\n");
  host.write("sys/class/block/sda/hidden", "0\n");
  host.write("sys/class/block/newcache0/slaves/sda/hidden", "0\n");
  host.write("sys/class/block/cciss!c0d0/hidden", "0\n");
  host.write("sys/class/block/cciss!c0d0p1/partition", "1\n");
  EXPECT_EQ(Disks(host.root()).counted(), (Names{"sda", "cciss/c0d0"}));
}

TEST(Disks, StayAsTheyWereWhereTheTextIsCut) {
  const HostTree host;
  const auto whole = base::read_small_file(JUMPER_TEST_DATA "/hosts/made/container/proc/diskstats");
  ASSERT_TRUE(whole);
  host.write("proc/diskstats", *whole);
  Disks disks(host.root());
  const auto before = disks.totals();
  std::vector<char> buffer(1 << 15);
  std::int64_t now_ns = 0;
  for (std::size_t size = 0; size <= whole->size(); ++size) {
    host.write("proc/diskstats", whole->substr(0, size));
    disks.read(buffer, now_ns += 20'000'000'000);
    ASSERT_EQ(disks.totals(), before) << size;
  }
}

TEST(Disks, AreNotAvailableWithoutAList) {
  const HostTree host;
  EXPECT_FALSE(Disks(host.root()).available());
  host.write("proc/diskstats", "");
  EXPECT_FALSE(Disks(host.root()).available());
  EXPECT_EQ(Disks(host.root()).reason(), "/proc/diskstats lists nothing");
  host.write("proc/diskstats", "7 0 loop0 1 0 8 0 1 0 8 0 0 1 1\n");
  EXPECT_TRUE(Disks(host.root()).available());  // there is none: that is 0
  EXPECT_EQ(Disks(host.root()).totals(), (Disks::Counts{}));
}

TEST(Disks, AllocateNothing) {
  Disks disks("/");
  std::vector<char> buffer(1 << 15);
  const std::int64_t before = allocations();
  for (int i = 0; i < 20; ++i) disks.read(buffer, 1 + i);
  EXPECT_EQ(allocations(), before);
}

// Past the page cache to the disk and back. Others use the disk, too: so it is never less, and once
// in some times hardly more.
TEST(Disks, CountWhatIsWrittenAndReadWithinOnePerCent) {
  constexpr std::int64_t kBytes = 64 << 20;
  constexpr std::size_t kBlock = 1 << 20;
  std::string path = (std::filesystem::temp_directory_path() / "disks-XXXXXX").string();
  const base::File named(::mkostemp(path.data(), O_CLOEXEC));
  ASSERT_TRUE(named.valid());
  const base::File file = base::File::try_open(path.c_str(), O_RDWR | O_DIRECT);
  ::unlink(path.c_str());
  struct stat status{};
  ASSERT_EQ(::fstat(named.fd(), &status), 0);
  if (!file.valid() || major(status.st_dev) == 0) {
    GTEST_SKIP() << "the temporary directory is on no disk, or takes no direct writes";
  }
  Disks disks("/");
  std::vector<char> buffer(1 << 15);
  void* block = std::aligned_alloc(4096, kBlock);
  std::memset(block, 'x', kBlock);
  bool close = false;
  for (int time = 0; time < 10 && !close; ++time) {
    ASSERT_TRUE(disks.read(buffer, 1));
    const auto before = disks.totals();
    for (off_t at = 0; at < kBytes; at += kBlock) {
      ASSERT_EQ(::pwrite(file.fd(), block, kBlock, at), static_cast<ssize_t>(kBlock));
    }
    for (off_t at = 0; at < kBytes; at += kBlock) {
      ASSERT_EQ(::pread(file.fd(), block, kBlock, at), static_cast<ssize_t>(kBlock));
    }
    ASSERT_TRUE(disks.read(buffer, 1));
    const auto& after = disks.totals();
    const std::int64_t written = after[kDiskWriteBytes] - before[kDiskWriteBytes];
    const std::int64_t read = after[kDiskReadBytes] - before[kDiskReadBytes];
    ASSERT_GE(written, kBytes);
    ASSERT_GE(read, kBytes);
    EXPECT_GT(after[kDiskWriteOps], before[kDiskWriteOps]);
    EXPECT_GT(after[kDiskReadOps], before[kDiskReadOps]);
    EXPECT_GT(after[kDiskBusyNs], before[kDiskBusyNs]);
    close = written <= kBytes * 101 / 100 && read <= kBytes * 101 / 100;
  }
  std::free(block);
  EXPECT_TRUE(close);
}

}  // namespace
}  // namespace probe
