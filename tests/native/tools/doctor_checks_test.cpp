// Each check on made-up machines, and on this one where it can show the thing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "probe/host_tree.hpp"
#include "tools/doctor_said.hpp"

namespace tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

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

// Fault: X8
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

}  // namespace
}  // namespace tools
