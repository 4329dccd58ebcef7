#include "store/earlier.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.hpp"
#include "record/codec.hpp"
#include "record/log.hpp"
#include "store/recording.hpp"

namespace store {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class Earlier : public testing::Test {
 protected:
  Earlier() {
    std::string name = (std::filesystem::temp_directory_path() / "earlier-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~Earlier() override { std::filesystem::remove_all(directory_); }
  Earlier(const Earlier&) = delete;
  Earlier& operator=(const Earlier&) = delete;

  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  // Its last write was that long ago.
  void add(const std::string& name, const std::string& label, std::int64_t age_s) {
    record::Machine machine;
    machine.label = label;
    write(name, {machine, killed()});
    age(name, age_s);
  }

  static record::End killed() {
    record::End end;
    end.cause = record::EndCause::kKilled;
    end.detail = 9;
    return end;
  }
  void write(const std::string& name, const std::vector<record::Record>& records) const {
    std::string bytes;
    std::uint32_t sequence = 0;
    for (const record::Record& one : records) {
      std::string payload;
      record::encode(one, payload);
      record::append_chunk(record::kind_of(one), sequence++, payload, bytes);
    }
    std::ofstream(path(name)) << bytes;
  }

  void age(const std::string& name, std::int64_t age_s) const {
    const std::int64_t then_s = base::clock_ns(CLOCK_REALTIME) / kSecond - age_s;
    const timespec times[2] = {{then_s, 0}, {then_s, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path(name).c_str(), times, 0), 0);
  }

  std::vector<std::string> found(const std::string& own = "") const {
    const std::int64_t since_ns = base::clock_ns(CLOCK_REALTIME) - 1000 * kSecond;
    return earlier_recordings(directory_, "n.ipynb", own, since_ns);
  }

  std::string directory_;
};

TEST_F(Earlier, AreThoseOfTheSameNotebookNewestFirst) {
  add("c.jumper", "n.ipynb", 500);
  add("b.jumper", "n.ipynb", 100);
  add("a.jumper", "n.ipynb", 300);
  add("other.jumper", "m.ipynb", 1);
  add("own.jumper", "n.ipynb", 0);
  EXPECT_EQ(found(path("own.jumper")),
            (std::vector{path("b.jumper"), path("a.jumper"), path("c.jumper")}));
}

TEST_F(Earlier, AreNotOlderThanAskedFor) {
  add("old.jumper", "n.ipynb", 2000);
  EXPECT_TRUE(found().empty());
}

TEST_F(Earlier, AreRecordingsAndFilesOfTheirOwn) {
  add("real.jumper", "n.ipynb", 5);
  add("elsewhere", "n.ipynb", 5);
  ASSERT_EQ(::symlink("elsewhere", path("link.jumper").c_str()), 0);
  ASSERT_EQ(::mkfifo(path("pipe.jumper").c_str(), 0600), 0);
  std::filesystem::create_directory(path("folder.jumper"));
  std::ofstream(path("foreign.jumper")) << "n.ipynb, not a recording";
  std::ofstream(path("empty.jumper"));
  EXPECT_EQ(found(), std::vector{path("real.jumper")});
  EXPECT_TRUE(earlier_recordings(path("nowhere"), "n.ipynb", "", 0).empty());
}

TEST_F(Earlier, AreToldOfOnce) {
  add("a.jumper", "n.ipynb", 5);
  EXPECT_FALSE(Recording::open(path("a.jumper")).told());
  ASSERT_TRUE(mark_told(path("a.jumper")));
  const Recording told = Recording::open(path("a.jumper"));
  EXPECT_TRUE(told.told());
  EXPECT_TRUE(told.damages().empty());
  EXPECT_EQ(told.end()->detail, 9);
}

TEST_F(Earlier, AreMarkedEvenWithATornEnd) {
  add("a.jumper", "n.ipynb", 5);
  std::filesystem::resize_file(path("a.jumper"), std::filesystem::file_size(path("a.jumper")) - 1);
  ASSERT_TRUE(mark_told(path("a.jumper")));
  EXPECT_TRUE(Recording::open(path("a.jumper")).told());
}

// Fault: X2
TEST_F(Earlier, EndedQuietlyWhenClosedOrToldOf) {
  record::CellBegin cell;
  cell.source = std::string(100'000, 'x');
  write("closed.jumper", {record::Machine{}, cell, record::End{}});
  EXPECT_TRUE(ended_quietly(path("closed.jumper")));
  write("killed.jumper", {record::Machine{}, cell, killed()});
  EXPECT_FALSE(ended_quietly(path("killed.jumper")));
  EXPECT_TRUE(mark_told(path("killed.jumper")));
  EXPECT_TRUE(ended_quietly(path("killed.jumper")));
  write("lost.jumper", {record::Machine{}, cell});
  EXPECT_FALSE(ended_quietly(path("lost.jumper")));
  EXPECT_TRUE(mark_told(path("lost.jumper")));
  EXPECT_TRUE(ended_quietly(path("lost.jumper")));
}

TEST_F(Earlier, DidNotEndQuietlyWhereACellOnlyLooksLikeIt) {
  std::string payload;
  record::encode(record::End{}, payload);
  record::CellBegin cell;
  record::append_chunk(record::ChunkKind::kEnd, 2, payload, cell.source);
  write("cell.jumper", {record::Machine{}, cell, killed()});
  EXPECT_FALSE(ended_quietly(path("cell.jumper")));
  std::ofstream(path("torn.jumper")) << cell.source << "behind it";
  EXPECT_FALSE(ended_quietly(path("torn.jumper")));
  std::ofstream(path("empty.jumper")).flush();
  EXPECT_FALSE(ended_quietly(path("empty.jumper")));
  EXPECT_FALSE(ended_quietly(path("none.jumper")));
}

TEST_F(Earlier, MarksNothingThatIsNotARecordingOfItsOwn) {
  std::ofstream(path("foreign.jumper")) << "something else";
  EXPECT_FALSE(mark_told(path("foreign.jumper")));
  EXPECT_EQ(std::filesystem::file_size(path("foreign.jumper")), 14U);
  add("a.jumper", "n.ipynb", 5);
  ASSERT_EQ(::symlink("a.jumper", path("link.jumper").c_str()), 0);
  EXPECT_FALSE(mark_told(path("link.jumper")));
  ASSERT_EQ(::link(path("a.jumper").c_str(), path("second.jumper").c_str()), 0);
  EXPECT_FALSE(mark_told(path("a.jumper")));
  EXPECT_FALSE(mark_told(path("nowhere.jumper")));
}

}  // namespace
}  // namespace store
