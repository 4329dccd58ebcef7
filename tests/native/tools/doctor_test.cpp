#include "tools/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <sstream>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "tools/doctor_apart.hpp"
#include "tools/doctor_mount.hpp"
#include "view/escape.hpp"

namespace tools {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Finding, ComesBackFromItsLine) {
  const Finding before{"g", "w \"x\"\n", Result::kLimited, "größer\t\x1b", "→"};
  const std::string line = finding_json(before);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto after = read_finding(line);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->group, before.group);
  EXPECT_EQ(after->what, before.what);
  EXPECT_EQ(after->result, before.result);
  EXPECT_EQ(after->reason, before.reason);
  EXPECT_EQ(after->remedy, before.remedy);
}

TEST(Finding, OfBytesThatAreNotUtf8IsStillALine) {
  const auto after = read_finding(finding_json({"", "a\xff", Result::kOk, "\xc3", ""}));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->what, "a\xef\xbf\xbd");
}

TEST(Finding, IsNotReadFromOtherLines) {
  for (const char* line :
       {"", "{", "[]", "1", "hello", R"({"what": "x"})", R"({"what": 1, "result": "ok"})",
        R"({"what": "x", "result": "fine"})", R"({"result": "ok"})"}) {
    EXPECT_FALSE(read_finding(line)) << line;
  }
  EXPECT_TRUE(read_finding(R"({"what": "x", "result": "ok", "reason": 7})"));
}

TEST(FindingText, StandsInColumnsOfAtMostAHundred) {
  std::string long_text;
  for (int word = 0; word < 60; ++word) long_text += "wörter ";
  const Finding finding{"", "what", Result::kLimited, long_text, "do " + long_text};
  const auto lines = lines_of(finding_text(finding, false));
  EXPECT_GT(lines.size(), 10U);
  EXPECT_THAT(lines[0], StartsWith("  limited  what                    wörter wörter"));
  for (const std::string& line : lines) EXPECT_LE(view::width(line), 100U) << line;
  EXPECT_THAT(lines[1], StartsWith("                                   wörter"));
}

TEST(FindingText, GivesALongNameALineOfItsOwn) {
  const auto lines =
      lines_of(finding_text({"", std::string(40, 'n'), Result::kOk, "r", ""}, false));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1], std::string(35, ' ') + "r");
}

TEST(FindingText, ShowsForeignControlsAndNothingElseOfThem) {
  const Finding finding{"", "a\x1b[2J", Result::kMissing, "b\nc\xe2\x80\xae", "\x07"};
  const std::string text = finding_text(finding, false);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("b\\nc\\u202e"));
  EXPECT_THAT(finding_text({"", "a", Result::kOk, "", ""}, true), HasSubstr("\033[32mok\033[0m"));
}

TEST(ParseProcMount, TakesTheOptionsOfTheLastMountOfProc) {
  const ProcMount plain = parse_proc_mount("22 27 0:21 / /proc rw,relatime - proc proc rw\n");
  EXPECT_TRUE(plain.found);
  EXPECT_EQ(plain.hides, "");
  EXPECT_FALSE(plain.only_processes);
  const ProcMount hiding = parse_proc_mount(
      "22 27 0:21 / /proc rw - proc proc rw\n"
      "23 27 0:22 / /sys rw - sysfs sysfs rw,hidepid=9\n"
      "40 22 0:21 / /proc rw,nosuid shared:5 master:2 - proc proc rw,gid=26,hidepid=invisible\n"
      "41 22 0:21 /x /proc/bus ro - proc proc rw\n");
  EXPECT_EQ(hiding.hides, "invisible");
  EXPECT_EQ(hiding.group, "26");
  EXPECT_TRUE(parse_proc_mount("1 2 0:3 / /proc rw - proc none rw,subset=pid").only_processes);
  for (const char* text :
       {"", "\n\n", "22 27 0:21 / /proc", "22 27 0:21 / /proc rw - tmpfs a b", "1 2 3 4 /proc -"}) {
    EXPECT_FALSE(parse_proc_mount(text).found) << text;
  }
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

// ---- checks in a child ----

std::vector<Finding> run(void (*function)(const Subject&, Sheet&),
                         std::chrono::milliseconds limit = 10s) {
  std::vector<Finding> findings;
  run_apart(Check{"group", "check", Result::kLimited, limit, function}, Subject{},
            [&](const Finding& finding) { findings.push_back(finding); });
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);
  return findings;
}

TEST(RunApart, HandsOverWhatIsSaidInItsOrder) {
  const auto findings = run([](const Subject&, Sheet& sheet) {
    sheet.ok("one", "fine");
    sheet.group("other");
    sheet.missing("two", "gone", "bring it");
  });
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].group, "group");
  EXPECT_EQ(findings[0].what, "one");
  EXPECT_EQ(findings[1].group, "other");
  EXPECT_EQ(findings[1].result, Result::kMissing);
  EXPECT_EQ(findings[1].remedy, "bring it");
}

TEST(RunApart, EndsAHangingCheckAndKeepsWhatItHadSaid) {
  const std::int64_t begin_ns = base::monotonic_ns();
  const auto findings = run(
      [](const Subject&, Sheet& sheet) {
        sheet.ok("before", "");
        for (;;) ::pause();
      },
      200ms);
  EXPECT_LT(base::monotonic_ns() - begin_ns, 5'000'000'000);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].what, "before");
  EXPECT_EQ(findings[1].what, "check");
  EXPECT_EQ(findings[1].result, Result::kLimited);
  EXPECT_EQ(findings[1].reason, "no answer within 200 ms");
}

TEST(RunApart, EndsWhatAHangingCheckHadStarted) {
  const auto findings = run(
      [](const Subject&, Sheet& sheet) {
        const Bystander child;
        sheet.ok(std::to_string(child.pid()), "");
        for (;;) ::pause();
      },
      300ms);
  ASSERT_EQ(findings.size(), 2U);
  const pid_t pid = std::stoi(findings[0].what);
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(ends(pid));
}

TEST(RunApart, SaysThatACheckDied) {
  const auto findings = run([](const Subject&, Sheet&) { ::raise(SIGKILL); });
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].result, Result::kMissing);
  EXPECT_EQ(findings[0].reason, "the attempt was killed by signal 9 (SIGKILL)");
}

TEST(RunApart, SaysWhatACheckThrew) {
  const auto findings =
      run([](const Subject&, Sheet&) { throw std::runtime_error("no such thing"); });
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "no such thing");
}

TEST(Bystander, IsThereAndThenNot) {
  pid_t pid = -1;
  {
    const Bystander child;
    pid = child.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

}  // namespace
}  // namespace tools
