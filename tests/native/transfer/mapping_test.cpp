#include "transfer/mapping.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "process_state.hpp"
#include "transfer/segment.hpp"

namespace transfer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::size_t kPage = page_bytes();
const char* const kNoPagemap = "/nonexistent/pagemap";

Mapping map_bytes(std::span<const std::byte> bytes, Transport transport = Transport::kMemfd,
                  const std::string& folder = {}) {
  SegmentWriter writer(transport, folder);
  writer.add(bytes);
  return Mapping::open(writer.finish(2));
}

std::vector<std::byte> some_bytes(std::size_t size) {
  std::mt19937 random(7);
  return random_bytes(size, random);
}

void flip(std::byte& byte) { byte = ~byte; }

std::string refusal_of(base::File file) {
  try {
    Mapping::open(std::move(file));
    return "";
  } catch (const base::Error& error) {
    return error.what();
  }
}

class MappingTest : public FolderTest {};

TEST_F(MappingTest, ShowsTheBytesOfMemoryAndOfFiles) {
  const auto bytes = some_bytes(3 * kPage + 5);
  for (const Transport transport : {Transport::kMemfd, Transport::kFile}) {
    const Mapping mapping = map_bytes(bytes, transport, folder_);
    EXPECT_EQ(mapping.size_bytes(), bytes.size());
    EXPECT_TRUE(std::ranges::equal(mapping.view(0, bytes.size()), bytes));
    EXPECT_EQ(mapping.view(kPage + 1, 1)[0], bytes[kPage + 1]);
  }
}

TEST_F(MappingTest, KeepsWhatIsWrittenToItself) {
  const auto bytes = some_bytes(2 * kPage);
  SegmentWriter writer(Transport::kMemfd);
  writer.add(bytes);
  const base::File file = writer.finish(1);
  const Mapping one = Mapping::open(file.duplicate());
  const Mapping other = Mapping::open(file.duplicate());
  flip(one.view(0, 1)[0]);
  EXPECT_EQ(other.view(0, 1)[0], bytes[0]);
}

TEST_F(MappingTest, RefusesWhatCouldChangeOrIsNoFile) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const base::File write_end(ends[1]);
  const std::string no_file = "cannot map carried data: it is not a regular file";
  EXPECT_EQ(refusal_of(base::File(ends[0])), no_file);
  EXPECT_EQ(refusal_of(base::File::open(folder_, O_RDONLY)), no_file);
  EXPECT_EQ(refusal_of(base::File::open("/dev/zero", O_RDWR)), no_file);
  EXPECT_EQ(refusal_of(base::make_memfd("open")),
            "cannot map carried data: it is not sealed, so it could change while it is read");
  const base::File half = base::make_memfd("half");
  ASSERT_EQ(::fcntl(half.fd(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL), 0);
  EXPECT_THAT(refusal_of(half.duplicate()), testing::HasSubstr("it is not sealed"));
  EXPECT_THAT(refusal_of(base::File()), testing::HasSubstr("Bad file"));
}

TEST_F(MappingTest, HasNoViewBeyondItsEnd) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  Mapping mapping = map_bytes(some_bytes(100));
  EXPECT_EQ(mapping.view(100, 0).size(), 0U);
  for (const Range& range : {Range{100, 1}, Range{0, 101}, Range{101, 0}, Range{kMost, 2},
                             Range{2, kMost}, Range{kMost, kMost}}) {
    EXPECT_THROW((void)mapping.view(range.offset_bytes, range.size_bytes), base::Error);
    EXPECT_THROW((void)mapping.changed(range.offset_bytes, range.size_bytes), base::Error);
    EXPECT_THROW(mapping.discard(range), base::Error);
  }
}

TEST_F(MappingTest, OfNothingIsEmpty) {
  Mapping mapping = map_bytes({});
  EXPECT_EQ(mapping.size_bytes(), 0U);
  EXPECT_TRUE(mapping.view(0, 0).empty());
  EXPECT_THAT(mapping.changed(0, 0), IsEmpty());
  mapping.discard({0, 0});
}

TEST_F(MappingTest, LeavesNoDescriptorAndNoMapping) {
  const auto before = open_descriptors();
  {
    Mapping one = map_bytes(some_bytes(kPage));
    Mapping other = map_bytes(some_bytes(kPage));
    EXPECT_EQ(segments_mapped(), 2);
    one = std::move(other);
    EXPECT_EQ(segments_mapped(), 1);
    EXPECT_THAT(one.changed(0, kPage), IsEmpty());
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(segments_mapped(), 0);
}

// What holds with the pagemap holds without it, or with one that says nothing or too little.
class ChangedTest : public FolderTest, public testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] static std::vector<Range> changed(const Mapping& mapping, std::size_t offset = 0,
                                                  std::size_t size = 0) {
    return mapping.changed(offset, size == 0 ? mapping.size_bytes() - offset : size, GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(Pagemaps, ChangedTest,
                         testing::Values("/proc/self/pagemap", kNoPagemap, "/dev/zero", "/dev/null",
                                         "/proc/self/mem"));

TEST_P(ChangedTest, IsNothingAfterReading) {
  for (const Transport transport : {Transport::kMemfd, Transport::kFile}) {
    const auto bytes = some_bytes(40 * kPage + 3);
    const Mapping mapping = map_bytes(bytes, transport, folder_);
    EXPECT_THAT(changed(mapping), IsEmpty());
    EXPECT_TRUE(std::ranges::equal(mapping.view(0, bytes.size()), bytes));
    EXPECT_THAT(changed(mapping), IsEmpty());
  }
}

TEST_P(ChangedTest, IsThePagesThatWereWrittenToMerged) {
  const Mapping mapping = map_bytes(some_bytes(40 * kPage + 3));
  const auto bytes = mapping.view(0, mapping.size_bytes());
  for (const std::size_t at : {3 * kPage, 4 * kPage - 1, 9 * kPage + 7, 10 * kPage, 11 * kPage + 1,
                               20 * kPage, 40 * kPage + 2}) {
    flip(bytes[at]);
  }
  EXPECT_THAT(changed(mapping), ElementsAre(Range{3 * kPage, kPage}, Range{9 * kPage, 3 * kPage},
                                            Range{20 * kPage, kPage}, Range{40 * kPage, 3}));
}

TEST_P(ChangedTest, IsCutToWhatWasAskedFor) {
  const Mapping mapping = map_bytes(some_bytes(8 * kPage));
  const auto bytes = mapping.view(0, mapping.size_bytes());
  for (std::size_t page = 0; page < 8; ++page) {
    flip(bytes[page * kPage]);
    flip(bytes[page * kPage + kPage - 1]);
  }
  EXPECT_THAT(changed(mapping, 2 * kPage - 10, 2 * kPage),
              ElementsAre(Range{2 * kPage - 10, 2 * kPage}));
  // The neighbour on the same page isn't ours.
  EXPECT_THAT(changed(mapping, 10, kPage - 20), IsEmpty());
}

TEST_P(ChangedTest, IsNothingWhereTheSameValueWasWritten) {
  const Mapping mapping = map_bytes(some_bytes(6 * kPage));
  const auto bytes = mapping.view(0, mapping.size_bytes());
  volatile std::byte* const place = &bytes[kPage];
  *place = *place;
  flip(bytes[2 * kPage]);
  flip(bytes[3 * kPage]);
  flip(bytes[2 * kPage]);
  EXPECT_THAT(changed(mapping), ElementsAre(Range{3 * kPage, kPage}));
}

TEST_P(ChangedTest, IsSeenInAForkedChild) {
  const Mapping mapping = map_bytes(some_bytes(8 * kPage));
  const auto bytes = mapping.view(0, mapping.size_bytes());
  flip(bytes[kPage]);
  EXPECT_EQ(in_child([&] {
              if (changed(mapping) != std::vector{Range{kPage, kPage}}) return 1;
              flip(bytes[4 * kPage]);
              flip(bytes[5 * kPage]);
              const std::vector right{Range{kPage, kPage}, Range{4 * kPage, 2 * kPage}};
              return changed(mapping) == right ? 0 : 2;
            }),
            0);
  EXPECT_THAT(changed(mapping), ElementsAre(Range{kPage, kPage}));  // the child's are its own
}

TEST_P(ChangedTest, AgreesWithAComparisonOfAllBytes) {
  std::mt19937 random(3);
  for (int round = 0; round < 25; ++round) {
    const std::size_t size = 1 + random() % (round % 5 == 0 ? 700 * kPage : 12 * kPage);
    const auto before = random_bytes(size, random);
    const Mapping mapping =
        map_bytes(before, round % 4 == 0 ? Transport::kFile : Transport::kMemfd, folder_);
    const auto now = mapping.view(0, size);
    for (std::size_t writes = random() % 20; writes > 0; --writes) {
      const std::size_t at = random() % size;
      const std::size_t length = std::min<std::size_t>(size - at, random() % (2 * kPage));
      const bool same = random() % 3 == 0;
      for (std::size_t i = at; i < at + length; ++i) {
        now[i] = same ? before[i] : static_cast<std::byte>(random());
      }
    }
    const std::size_t offset = random() % size;
    const std::size_t asked = random() % (size - offset + 1);
    std::vector<Range> right;
    for (std::size_t at = offset; at < offset + asked;) {
      const std::size_t end = std::min((at / kPage + 1) * kPage, offset + asked);
      if (!std::equal(&now[at], now.data() + end, &before[at])) {
        if (!right.empty() && right.back().offset_bytes + right.back().size_bytes == at) {
          right.back().size_bytes += end - at;
        } else {
          right.push_back({at, end - at});
        }
      }
      at = end;
    }
    ASSERT_EQ(mapping.changed(offset, asked, GetParam()), right) << "round " << round;
  }
}

TEST_F(MappingTest, LooksOnlyAtPagesThatWereWrittenTo) {
  // With the pagemap no other page is touched: most of the segment never comes to memory. Written
  // without being read before, which would bring the pages around it.
  const auto before = some_bytes(64 * kPage);
  const Mapping mapping = map_bytes(before);
  const auto bytes = mapping.view(0, before.size());
  bytes[5 * kPage] = ~before[5 * kPage];
  if (::access("/proc/self/pagemap", R_OK) != 0) GTEST_SKIP() << "no pagemap here";
  EXPECT_THAT(mapping.changed(0, bytes.size()), ElementsAre(Range{5 * kPage, kPage}));
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  while (std::getline(smaps, line) && line.find("jumper-segment") == line.npos) continue;
  while (std::getline(smaps, line) && !line.starts_with("Rss:")) continue;
  EXPECT_EQ(std::stoul(line.substr(4)), kPage / 1024) << line;
}

TEST_F(MappingTest, ReadsAsTheFileAgainWhereItWasDiscarded) {
  const auto before = some_bytes(6 * kPage + 9);
  Mapping mapping = map_bytes(before);
  const auto bytes = mapping.view(0, before.size());
  for (std::byte& byte : bytes) flip(byte);
  mapping.discard({kPage + 1, 3 * kPage});  // whole pages: 2 and 3
  EXPECT_THAT(mapping.changed(0, bytes.size()),
              ElementsAre(Range{0, 2 * kPage}, Range{4 * kPage, 2 * kPage + 9}));
  EXPECT_TRUE(std::equal(&bytes[2 * kPage], &bytes[4 * kPage], &before[2 * kPage]));
  mapping.discard({kPage + 1, 10});  // no whole page
  mapping.discard({5 * kPage, kPage + 9});
  EXPECT_THAT(mapping.changed(0, bytes.size()),
              ElementsAre(Range{0, 2 * kPage}, Range{4 * kPage, kPage}));
}

TEST_F(MappingTest, SaysWhenItsFileWasShortened) {
  const std::string path = folder_ + "/file";
  const base::File file = base::File::open(path, O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::ftruncate(file.fd(), static_cast<off_t>(4 * kPage)), 0);
  const Mapping mapping = Mapping::open(file.duplicate());
  ASSERT_EQ(::ftruncate(file.fd(), 0), 0);
  EXPECT_THROW((void)mapping.changed(0, kPage, kNoPagemap), base::Error);
}

}  // namespace
}  // namespace transfer
