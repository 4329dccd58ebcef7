// Each check on made-up machines, and on this one where it can show the thing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "probe/host_tree.hpp"
#include "tools/doctor.hpp"
#include "tools/doctor_apart.hpp"

namespace tools {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Sets a variable for the time of one test; nullptr: unset.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) const {
    value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

// What a check said, in a child as in real life.
class Said {
 public:
  Said(void (*check)(const Subject&, Sheet&), const Subject& subject,
       std::chrono::milliseconds limit = 20s) {
    run_apart(Check{"group", "check", Result::kLimited, limit, check}, subject,
              [this](const Finding& finding) { list_.push_back(finding); });
  }
  [[nodiscard]] const std::vector<Finding>& list() const { return list_; }
  // The first about `what`.
  [[nodiscard]] Finding about(std::string_view what, std::string_view group = {}) const {
    for (const Finding& finding : list_) {
      if (finding.what == what && (group.empty() || finding.group == group)) return finding;
    }
    ADD_FAILURE() << "nothing was said about " << what;
    return {};
  }
  // All about it, joined.
  [[nodiscard]] std::string all(std::string_view what) const {
    std::string text;
    for (const Finding& finding : list_) {
      if (finding.what == what) text += finding.reason + "\n";
    }
    return text;
  }

 private:
  std::vector<Finding> list_;
};

Subject this_machine() {
  Subject subject;
  subject.pid = ::getpid();
#ifdef JUMPER_PROGRAM
  subject.program = JUMPER_PROGRAM;
#endif
  return subject;
}

Subject machine(const probe::HostTree& tree) {
  Subject subject = this_machine();
  subject.root = tree.root();
  return subject;
}

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "doctor-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }
  [[nodiscard]] std::string string() const { return path_.string(); }
  [[nodiscard]] bool empty() const { return fs::is_empty(path_); }

 private:
  fs::path path_;
};

void write_program(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_all);
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

// ---- levels, sources, limits ----

TEST(CheckMeasuring, FindsTheLevelsOfThisMachine) {
  const Said said(check_measuring, this_machine());
  EXPECT_THAT(said.about("process", "group").reason, HasSubstr(" values are measured"));
  EXPECT_NE(said.about("process", "group").result, Result::kMissing);
  EXPECT_THAT(said.about("node", "sources").reason, HasSubstr("/proc/stat"));
  EXPECT_THAT(said.about("node", "limits").reason, HasSubstr("core"));
  EXPECT_EQ(said.about("open files", "limits").group, "limits");
  for (const Finding& finding : said.list()) EXPECT_FALSE(finding.what.empty());
}

TEST(CheckMeasuring, NamesWhatTheNodeLacksAndWhy) {
  probe::HostTree tree;
  tree.write("proc/stat", probe::HostTree::stat_text(2));
  tree.write_process(77, 1);
  Subject subject = machine(tree);
  subject.pid = 77;
  const Said said(check_measuring, subject);
  EXPECT_EQ(said.about("node", "group").result, Result::kLimited);
  EXPECT_THAT(said.all("node"), HasSubstr("memory_bytes"));
  EXPECT_THAT(said.all("node"), HasSubstr("not supported: cannot open /proc/meminfo"));
}

TEST(CheckMeasuring, SaysThatTheProcessIsNotThere) {
  probe::HostTree tree;
  tree.write("proc/stat", probe::HostTree::stat_text(2));
  Subject subject = machine(tree);
  subject.pid = 77;
  const Said said(check_measuring, subject);
  EXPECT_EQ(said.about("process").result, Result::kMissing);
  EXPECT_THAT(said.about("node", "group").reason, HasSubstr("values are measured"));
}

TEST(CheckMeasuring, ReadsSlurmsWords) {
  const Variable job("SLURM_JOB_ID", "4711");
  const Variable nodes("SLURM_JOB_NUM_NODES", "4");
  const Finding found = Said(check_measuring, this_machine()).about("Slurm");
  EXPECT_EQ(found.result, Result::kLimited);
  EXPECT_THAT(found.reason, StartsWith("SLURM_JOB_ID=4711 SLURM_JOB_NUM_NODES=4"));
  EXPECT_THAT(found.reason, HasSubstr("only this one is measured"));
}

TEST(CheckMeasuring, ComparesSlurmsGrantWithTheAffinity) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core: no affinity is wider";
  const Variable job("SLURM_JOB_ID", "4711");
  const Variable nodes("SLURM_JOB_NUM_NODES", nullptr);
  const Variable cores("SLURM_CPUS_PER_TASK", "1");
  const Finding found = Said(check_measuring, this_machine()).about("Slurm");
  EXPECT_EQ(found.result, Result::kLimited);
  EXPECT_THAT(found.reason, HasSubstr("the job has 1 core, the process may run on "));
  EXPECT_THAT(found.remedy, HasSubstr("srun"));
}

// ---- system calls ----

TEST(CheckCalls, TriesEveryCallHere) {
  const Said said(check_calls, this_machine());
  EXPECT_EQ(said.about("start of the sampler").result, Result::kOk);
  EXPECT_EQ(said.about("socket pair").result, Result::kOk);
  for (const char* what : {"memfd_create, seals", "pidfd_open", "process_vm_readv",
                           "perf_event_open", "ptrace", "ptrace scope", "seccomp"}) {
    EXPECT_NE(said.about(what).result, Result::kMissing) << what;
  }
}

TEST(CheckCalls, MissesAProgramThatCannotBeStarted) {
  Subject subject = this_machine();
  subject.program = "/nowhere/jumper";
  const Finding found = Said(check_calls, subject).about("start of the sampler");
  EXPECT_EQ(found.result, Result::kMissing);
  EXPECT_THAT(found.reason, HasSubstr("No such file or directory"));
}

TEST(CheckCalls, ReadsYamasScope) {
  probe::HostTree tree;
  tree.write("proc/sys/kernel/yama/ptrace_scope", "1\n");
  EXPECT_EQ(Said(check_calls, machine(tree)).about("ptrace scope").result, Result::kOk);
  tree.write("proc/sys/kernel/yama/ptrace_scope", "2\n");
  const Finding found = Said(check_calls, machine(tree)).about("ptrace scope");
  EXPECT_EQ(found.result, Result::kLimited);
  EXPECT_THAT(found.reason, StartsWith("kernel.yama.ptrace_scope is 2: only administrators"));
  EXPECT_EQ(found.remedy, "ask the administrator for 1");
}

TEST(CheckCalls, SeesAFilter) {
  probe::HostTree tree;
  tree.write("proc/self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  EXPECT_THAT(Said(check_calls, machine(tree)).about("seccomp").reason,
              StartsWith("a filter is active"));
  tree.write("proc/self/status", "Name:\tx\nSeccomp:\t0\n");
  EXPECT_EQ(Said(check_calls, machine(tree)).about("seccomp").reason, "no filter");
}

// ---- /proc ----

TEST(CheckProcesses, ReadsAnOwnChildHere) {
  const Said said(check_processes, this_machine());
  EXPECT_EQ(said.about("CPU clock of processes").result, Result::kOk);
  EXPECT_THAT(said.about("io of own processes").reason, ::testing::Not(IsEmpty()));
}

TEST(CheckProcesses, SaysWhatFollowsFromFilesThatAreNotThere) {
  probe::HostTree tree;
  tree.write("proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw,subset=pid\n");
  const Said said(check_processes, machine(tree));
  EXPECT_EQ(said.about("/proc").result, Result::kLimited);
  EXPECT_THAT(said.about("/proc").reason, HasSubstr("subset=pid"));
  EXPECT_EQ(said.about("io of own processes").result, Result::kLimited);
  EXPECT_THAT(said.about("io of own processes").reason, HasSubstr("no I/O is measured"));
  EXPECT_THAT(said.about("smaps_rollup").reason, HasSubstr("resident sizes"));
}

TEST(CheckProcesses, SaysThatAKernelIsTheFirstOfItsContainer) {
  Subject subject = this_machine();
  subject.pid = 1;
  const Finding found = Said(check_processes, subject).about("process 1");
  EXPECT_EQ(found.result, Result::kLimited);
  EXPECT_THAT(found.remedy, HasSubstr("--init"));
}

TEST(CheckProcesses, CannotDoWithoutProc) {
  probe::HostTree tree;
  EXPECT_EQ(Said(check_processes, machine(tree)).about("/proc").result, Result::kMissing);
}

// ---- places ----

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

// ---- clocks and program ----

TEST(CheckClocks, NamesTheSource) {
  probe::HostTree tree;
  tree.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  const Said said(check_clocks, machine(tree));
  EXPECT_THAT(said.about("clock source").reason, StartsWith("hpet; reading the time takes "));
  EXPECT_EQ(said.about("CLOCK_MONOTONIC").result, Result::kOk);
}

TEST(CheckProgram, SeesAnotherJumperOnThePath) {
  const Folder folder;
  write_program(folder / "jumper", "#!/bin/sh\n");
  const std::string path = "relative:" + folder.string();
  const Variable variable("PATH", path.c_str());
  const Finding found = Said(check_program, this_machine()).about("jumper on PATH");
  EXPECT_EQ(found.result, Result::kLimited);
  EXPECT_THAT(found.reason, HasSubstr(folder.string() + "/jumper"));
}

TEST(FindOnPath, RunsNothingOfTheCurrentFolder) {
  const Folder folder;
  write_program(folder / "tool", "#!/bin/sh\n");
  const fs::path before = fs::current_path();
  fs::current_path(folder.string());
  {
    const Variable variable("PATH", ":.");
    EXPECT_EQ(find_on_path("tool", false), "");
    EXPECT_EQ(find_on_path("tool", true), "./tool");
  }
  fs::current_path(before);
  const Variable variable("PATH", folder.string().c_str());
  EXPECT_EQ(find_on_path("tool", false), folder.string() + "/tool");
}

// ---- Python, played by scripts ----

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
