#include "probe/file_systems.hpp"

#include <gtest/gtest.h>

#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actor.hpp"
#include "allocations.hpp"
#include "base/clock.hpp"
#include "host_tree.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kBeginNs = 100 * kSecondNs;

std::size_t threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// A machine with three file systems, and a folder on each: /, /home (two mounts of it), /scratch.
class FileSystemsTest : public testing::Test {
 protected:
  FileSystemsTest() {
    host.write("proc/20/mountinfo",
               "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:44 / /home rw - nfs4 server:/home rw\n"
               "3 1 0:44 / /mnt/home rw - nfs4 server:/home rw\n"
               "4 1 0:50 / /scratch rw - lustre server:/scratch rw\n");
  }
  std::unique_ptr<FileSystems> make(const FileSystems::Measure& measure) {
    return std::make_unique<FileSystems>(host.root(), 20, places, missing, measure);
  }
  // The values `later_ns` after the beginning.
  static std::vector<record::Value> read(FileSystems& systems, std::int64_t later_ns) {
    std::vector<record::Value> values(systems.columns().size());
    systems.read(values, Turn{kBeginNs + later_ns, true, {}});
    return values;
  }
  static bool answered(FileSystems& systems, std::size_t index) {
    return eventually([&] { return record::is_known(read(systems, 0)[2 * index]); });
  }
  [[nodiscard]] std::string reason(const std::string& name) const {
    for (const auto& item : missing.list()) {
      if (item.name == name) return item.reason;
    }
    return {};
  }

  HostTree host;
  MissingList missing;
  std::vector<Place> places{{"/home/me/work", "working directory"},
                            {"/mnt/home/me", "HOME"},
                            {"/tmp", "temporary directory"},
                            {"/scratch/me", "recordings"}};
};

// A file system that answers only when it is told to. Outlives the test when it is never told.
struct Dead {
  std::atomic<bool> answers = false;
  std::atomic<int> asked = 0;
  Fill ask() {
    ++asked;
    answers.wait(false);
    return {7, 70, 0};
  }
  void revive() {
    answers = true;
    answers.notify_all();
  }
};

TEST_F(FileSystemsTest, HasColumnsAndANameForEachFileSystemOnce) {
  const auto systems = make([](const std::string&) { return Fill{1, 10, 0}; });
  std::string names;
  for (const auto& column : systems->columns()) names += column.name + " ";
  EXPECT_EQ(names,
            "node.file_system0_used_bytes node.file_system0_capacity_bytes "
            "node.file_system1_used_bytes node.file_system1_capacity_bytes "
            "node.file_system2_used_bytes node.file_system2_capacity_bytes ");
  ASSERT_EQ(systems->devices().size(), 3U);
  const auto& home = systems->devices()[0];
  EXPECT_EQ(home.name, "file_system0");
  EXPECT_EQ(home.kind, "file system");
  EXPECT_EQ(home.model, "nfs4");
  EXPECT_EQ(home.id, "/home");
  EXPECT_EQ(home.text, "working directory, HOME");
  EXPECT_EQ(systems->devices()[1].id, "/");
  EXPECT_EQ(systems->devices()[2].model, "lustre");
  EXPECT_EQ(systems->devices()[2].index, 2);
  EXPECT_EQ(systems->take_devices().size(), 3U);
  EXPECT_TRUE(systems->take_devices().empty());  // told once
}

TEST_F(FileSystemsTest, HasFourAtMost) {
  std::string mounts;
  places.clear();
  for (int i = 0; i < 9; ++i) {
    const std::string point = "/m" + std::to_string(i);
    mounts += "1 0 0:" + std::to_string(i) + " / " + point + " rw - tmpfs none rw\n";
    places.push_back({point, "place"});
  }
  host.write("proc/20/mountinfo", mounts);
  const auto systems = make([](const std::string&) { return Fill{1, 10, 0}; });
  EXPECT_EQ(systems->columns().size(), 8U);
}

TEST_F(FileSystemsTest, ShowsWhatEachAnswered) {
  const auto systems = make([](const std::string& path) {
    return path.starts_with("/home") ? Fill{30, 300, 0} : Fill{1, 10, 0};
  });
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(answered(*systems, i));
  EXPECT_EQ(read(*systems, 0), (std::vector<record::Value>{30, 300, 1, 10, 1, 10}));
  EXPECT_TRUE(missing.list().empty());
}

TEST_F(FileSystemsTest, AsksEveryTenSeconds) {
  places = {{"/home", "HOME"}};
  const auto count = std::make_shared<std::atomic<int>>(0);
  const auto systems = make([count](const std::string&) { return Fill{++*count, 100, 0}; });
  ASSERT_TRUE(answered(*systems, 0));
  EXPECT_EQ(read(*systems, 10 * kSecondNs - 1)[0], 1);
  EXPECT_EQ(*count, 1);
  read(*systems, 10 * kSecondNs);
  ASSERT_TRUE(eventually([&] { return read(*systems, 10 * kSecondNs)[0] == 2; }));
  EXPECT_EQ(read(*systems, 19 * kSecondNs)[0], 2);
  EXPECT_EQ(*count, 2);
}

TEST_F(FileSystemsTest, OneThatDoesNotAnswerHoldsUpNobody) {
  std::thread([] {}).join();  // with the first one ThreadSanitizer starts one of its own
  const std::size_t before = threads();
  const auto dead = std::make_shared<Dead>();
  auto systems = make([dead](const std::string& path) {
    return path.starts_with("/home") ? dead->ask() : Fill{1, 10, 0};
  });
  ASSERT_TRUE(answered(*systems, 1));
  ASSERT_TRUE(answered(*systems, 2));
  ASSERT_TRUE(eventually([&] { return dead->asked == 1; }));
  EXPECT_EQ(read(*systems, 2 * kSecondNs - 1)[0], unknown(State::kNotYet));
  EXPECT_TRUE(missing.list().empty());
  EXPECT_EQ(read(*systems, 2 * kSecondNs)[0], unknown(State::kNotYet));
  EXPECT_EQ(read(*systems, 2 * kSecondNs)[2], 1);
  EXPECT_EQ(reason("node.file_system0_used_bytes"),
            "the file system of /home/me/work doesn't answer");
  EXPECT_EQ(reason("node.file_system0_capacity_bytes"),
            "the file system of /home/me/work doesn't answer");
  const std::int64_t allocated = allocations();
  for (int i = 0; i < 57; ++i) read(*systems, 9 * kSecondNs);
  EXPECT_EQ(missing.list().size(), 2U);
  EXPECT_LE(allocations() - allocated, 57);  // the vectors of read() here
  EXPECT_EQ(dead->asked, 1);

  // Nor the end.
  const std::int64_t begin_ns = base::monotonic_ns();
  systems.reset();
  EXPECT_LT(base::monotonic_ns() - begin_ns, kSecondNs);
  EXPECT_TRUE(eventually([&] { return threads() == before + 1; }));
  dead->revive();
  EXPECT_TRUE(eventually([&] { return threads() == before; }));
}

TEST_F(FileSystemsTest, OneThatAnswersAgainIsKnownAgain) {
  places = {{"/home", "HOME"}};
  const auto dead = std::make_shared<Dead>();
  dead->answers = true;
  const auto systems = make([dead](const std::string&) { return dead->ask(); });
  ASSERT_TRUE(answered(*systems, 0));
  dead->answers = false;
  read(*systems, 10 * kSecondNs);
  EXPECT_EQ(read(*systems, 12 * kSecondNs - 1)[0], 7);
  EXPECT_EQ(read(*systems, 12 * kSecondNs)[0], unknown(State::kNotYet));
  dead->revive();
  EXPECT_TRUE(eventually([&] { return read(*systems, 12 * kSecondNs)[0] == 7; }));
}

TEST_F(FileSystemsTest, SaysWhyOneHasNoFill) {
  const auto systems = make([](const std::string& path) {
    if (path.starts_with("/home")) return Fill{0, 0, EACCES};
    return Fill{0, 0, path.starts_with("/tmp") ? ENOENT : ENOSYS};
  });
  ASSERT_TRUE(eventually([&] {
    read(*systems, 0);
    return missing.list().size() == 6;
  }));
  const record::Value refused = unknown(State::kNotPermitted);
  const record::Value gone = unknown(State::kVanished);
  const record::Value none = unknown(State::kNotSupported);
  EXPECT_EQ(read(*systems, 0),
            (std::vector<record::Value>{refused, refused, gone, gone, none, none}));
  EXPECT_EQ(reason("node.file_system0_used_bytes"),
            "the file system of /home/me/work can't be asked: Permission denied");
  EXPECT_EQ(reason("node.file_system2_capacity_bytes"),
            "the file system of /scratch/me has no size");
}

TEST_F(FileSystemsTest, ItsThreadsTakeNoSignals) {
  places = {{"/home", "HOME"}};
  const auto blocked = std::make_shared<std::atomic<int>>(-1);
  const auto systems = make([blocked](const std::string&) {
    sigset_t set;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &set);
    *blocked = ::sigismember(&set, SIGTERM) + ::sigismember(&set, SIGCHLD);
    return Fill{1, 10, 0};
  });
  ASSERT_TRUE(answered(*systems, 0));
  EXPECT_EQ(*blocked, 2);
  sigset_t set;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &set);
  EXPECT_EQ(::sigismember(&set, SIGTERM), 0);
}

TEST_F(FileSystemsTest, HasNoneOfAProcessThatSeesOthers) {
  std::filesystem::create_directories(host.root() + "/proc/20/ns");
  std::filesystem::create_directories(host.root() + "/proc/self/ns");
  std::filesystem::create_symlink("mnt:[1]", host.root() + "/proc/20/ns/mnt");
  std::filesystem::create_symlink("mnt:[2]", host.root() + "/proc/self/ns/mnt");
  const auto systems = make([](const std::string&) { return Fill{1, 10, 0}; });
  EXPECT_TRUE(systems->columns().empty());
  EXPECT_NE(reason("node.file_system0_used_bytes").find("mount namespace"), std::string::npos);
}

TEST_F(FileSystemsTest, SaysWhenTheListIsNotThere) {
  std::filesystem::remove(host.root() + "/proc/20/mountinfo");
  const auto systems = make([](const std::string&) { return Fill{1, 10, 0}; });
  EXPECT_TRUE(systems->columns().empty());
  EXPECT_FALSE(reason("node.file_system0_used_bytes").empty());
}

TEST_F(FileSystemsTest, TakesPlacesFromTheProcess) {
  std::filesystem::create_symlink("/home/me/work", host.root() + "/proc/20/cwd");
  host.write("proc/20/environ", std::string("XHOME=/no\0HOME=/home/me\0TMPDIR=\0LAST=1", 38));
  const auto usual = usual_places(host.root(), 20);
  ASSERT_EQ(usual.size(), 3U);
  EXPECT_EQ(usual[0].path, "/home/me/work");
  EXPECT_EQ(usual[1].path, "/home/me");
  EXPECT_EQ(usual[2].path, "/tmp");
  host.write("proc/20/environ", std::string("TMPDIR=/scratch/me\0HOME=relative", 32));
  EXPECT_EQ(usual_places(host.root(), 20).back().path, "/scratch/me");
  EXPECT_EQ(usual_places(host.root(), 20).size(), 2U);
}

TEST(FileSystems, AgreesWithTheSystemAboutThisMachine) {
  MissingList missing;
  const std::string folder = std::filesystem::current_path();
  FileSystems systems("/", ::getpid(), {{folder, "working directory"}}, missing);
  ASSERT_EQ(systems.columns().size(), 2U);
  std::vector<record::Value> values(2);
  ASSERT_TRUE(eventually([&] {
    systems.read(values, Turn{base::monotonic_ns(), true, {}});
    return record::is_known(values[0]);
  }));
  const auto space = std::filesystem::space(folder);
  const auto used = static_cast<std::int64_t>(space.capacity - space.free);
  EXPECT_NEAR(static_cast<double>(values[0]), static_cast<double>(used), 1e9);
  EXPECT_NEAR(static_cast<double>(values[1]),
              static_cast<double>(used + static_cast<std::int64_t>(space.available)), 1e9);
  EXPECT_FALSE(systems.devices()[0].model.empty());
}

TEST(Fill, IsNotOfAFileSystemWithoutASizeNorOfNothing) {
  EXPECT_EQ(measure_fill("/proc").error, ENOSYS);
  EXPECT_EQ(measure_fill("/nothing/there").error, ENOENT);
  const Fill fill = measure_fill("/");
  EXPECT_EQ(fill.error, 0);
  EXPECT_GT(fill.used_bytes, 0);
  EXPECT_GE(fill.capacity_bytes, fill.used_bytes);
}

TEST(Fill, GrowsWithWhatIsWritten) {
  constexpr std::int64_t kBytes = 64 << 20;
  const HostTree host;
  bool grown = false;
  for (int time = 0; time < 5 && !grown; ++time) {  // others may delete something meanwhile
    const Fill before = measure_fill(host.root());
    host.write("large", std::string(kBytes, 'x'));
    std::ofstream(host.root() + "/large", std::ios::app).flush();
    ::sync();
    const Fill after = measure_fill(host.root());
    grown = after.used_bytes >= before.used_bytes + kBytes * 99 / 100;
    std::filesystem::remove(host.root() + "/large");
  }
  EXPECT_TRUE(grown);
}

}  // namespace
}  // namespace probe
