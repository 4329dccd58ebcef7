// Where recordings would lie, and the notebooks' Python (played by scripts).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "tools/doctor_said.hpp"

namespace tools {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CheckPlacesTest : public ::testing::Test {
 protected:
  Folder home_;
  Variable home_variable_{"HOME", home_.string().c_str()};
  Variable temporary_{"TMPDIR", home_.string().c_str()};
  Variable state_{"XDG_STATE_HOME", nullptr};
  Variable directory_{"JUMPER_DIR", nullptr};
  Variable runtime_{"XDG_RUNTIME_DIR", nullptr};
};

TEST_F(CheckPlacesTest, CreatesARecordingAndLeavesNothing) {
  const Finding found = Said(check_places, this_machine()).about("recordings");
  EXPECT_EQ(found.result, Result::kOk);
  EXPECT_THAT(found.reason, StartsWith(home_.string() + "/.local/state/jumper: "));
  EXPECT_THAT(found.reason, HasSubstr(" free"));
  EXPECT_TRUE(home_.empty());
}

TEST_F(CheckPlacesTest, KeepsWhatWasThere) {
  fs::create_directories(home_ / ".local/state/jumper");
  std::ofstream(home_ / ".local/state/jumper/old.jumper") << "x";
  EXPECT_EQ(Said(check_places, this_machine()).about("recordings").result, Result::kOk);
  EXPECT_TRUE(fs::exists(home_ / ".local/state/jumper/old.jumper"));
  EXPECT_EQ(std::distance(fs::directory_iterator(home_ / ".local/state/jumper"), {}), 1);
}

TEST_F(CheckPlacesTest, SaysWhichVariableNamesAFolderThatCannotBeUsed) {
  std::ofstream(home_ / "file") << "x";
  const std::string file = (home_ / "file").string();
  const Variable directory("JUMPER_DIR", file.c_str());
  const Said said(check_places, this_machine());
  EXPECT_EQ(said.about("JUMPER_DIR").result, Result::kLimited);
  EXPECT_THAT(said.about("JUMPER_DIR").reason, StartsWith("'" + file + "'"));
  EXPECT_THAT(said.about("JUMPER_DIR").remedy, HasSubstr("JUMPER_DIR"));
  EXPECT_EQ(said.about("recordings").result, Result::kOk);
}

TEST_F(CheckPlacesTest, TakesARelativeFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(home_.string());
  const Variable directory("JUMPER_DIR", "a/b");
  const Finding found = Said(check_places, this_machine()).about("recordings");
  fs::current_path(before);
  EXPECT_EQ(found.result, Result::kOk);
  EXPECT_THAT(found.reason, StartsWith("a/b: "));
  EXPECT_TRUE(home_.empty());
}

TEST_F(CheckPlacesTest, SaysThatATemporaryFolderIsAllThereIs) {
  const Variable home("HOME", "/proc/nowhere");
  const Said said(check_places, this_machine());
  EXPECT_EQ(said.about("HOME").result, Result::kLimited);
  EXPECT_EQ(said.about("recordings").result, Result::kLimited);
  EXPECT_THAT(said.about("recordings").reason,
              StartsWith("a new folder in " + home_.string() + ": "));
  EXPECT_TRUE(home_.empty());
}

TEST_F(CheckPlacesTest, SaysThatARelativePathIsIgnored) {
  const Variable state("XDG_STATE_HOME", "state");
  EXPECT_THAT(Said(check_places, this_machine()).about("XDG_STATE_HOME").reason,
              StartsWith("'state' is ignored"));
}

TEST_F(CheckPlacesTest, LooksAtTheRuntimeFolder) {
  EXPECT_EQ(Said(check_places, this_machine()).about("XDG_RUNTIME_DIR").result, Result::kOk);
  const std::string absent = (home_ / "absent").string();
  const Variable runtime("XDG_RUNTIME_DIR", absent.c_str());
  const Finding found = Said(check_places, this_machine()).about("XDG_RUNTIME_DIR");
  EXPECT_EQ(found.result, Result::kLimited);
  EXPECT_THAT(found.reason, HasSubstr("No such file or directory"));
}

// Within 5 s; a zombie has, too: not every system has somebody who takes orphans.
bool ends(pid_t pid) {
  for (int look = 0; look < 5000; ++look) {
    const auto stat = base::read_small_file("/proc/" + std::to_string(pid) + "/stat");
    if (!stat || stat->find(") Z ") != stat->npos || stat->find(") X ") != stat->npos) return true;
    ::usleep(1000);
  }
  return false;
}

class CheckPythonTest : public ::testing::Test {
 protected:
  Said run(const std::string& script, std::chrono::milliseconds limit = 20s) {
    write_program(folder_ / "python", "#!/bin/sh\n" + script + "\n");
    Subject subject = this_machine();
    subject.python = (folder_ / "python").string();
    return {check_python, subject, limit};
  }
  Folder folder_;
};

TEST_F(CheckPythonTest, PassesOnWhatTheScriptSaysAndNothingElse) {
  const Said said =
      run("echo 'a .pth file says hello'\n"
          "echo '{\"group\": \"x\", \"what\": \"A\", \"result\": \"ok\", \"reason\": \"b\"}'");
  ASSERT_EQ(said.list().size(), 1U);
  EXPECT_EQ(said.about("A").group, "group");
}

TEST_F(CheckPythonTest, GetsTheScriptAndOurVersionAndASafePath) {
  const Said said =
      run("[ $1 = -c ] && [ -n \"$2\" ] && [ -n \"$3\" ] && [ \"$PYTHONSAFEPATH\" = 1 ] && "
          "echo '{\"what\": \"A\", \"result\": \"ok\"}'");
  EXPECT_EQ(said.about("A").result, Result::kOk);
}

TEST_F(CheckPythonTest, SaysTheLastLineOfAFailure) {
  const Finding found = run("echo first >&2; echo 'ImportError: x' >&2; exit 3").about("Python");
  EXPECT_EQ(found.result, Result::kLimited);
  EXPECT_THAT(found.reason, HasSubstr("failed: ImportError: x"));
}

TEST_F(CheckPythonTest, SaysThatItCannotBeStarted) {
  Subject subject = this_machine();
  subject.python = "/nowhere/python";
  EXPECT_THAT(Said(check_python, subject).about("Python").reason, HasSubstr("can't be started"));
  subject.python = "";
  EXPECT_THAT(Said(check_python, subject).about("Python").reason, HasSubstr("--python"));
}

TEST_F(CheckPythonTest, DoesNotWaitForOneThatHangs) {
  const std::string pid_file = (folder_ / "pid").string();
  const std::int64_t begin_ns = base::monotonic_ns();
  const Said said = run("echo $$ >" + pid_file + "; exec sleep 1000", 400ms);
  EXPECT_LT(base::monotonic_ns() - begin_ns, 5'000'000'000);
  EXPECT_EQ(said.about("check").result, Result::kLimited);
  pid_t pid = 0;
  std::ifstream(pid_file) >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(ends(pid));
}

}  // namespace
}  // namespace tools
