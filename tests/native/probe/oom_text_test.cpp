#include "probe/oom_text.hpp"

#include <gtest/gtest.h>

namespace probe {
namespace {

constexpr record::Value kNone = record::unknown(record::State::kNotSupported);

TEST(OomEvents, AreReadOfBothVersions) {
  const OomEvents v2 =
      parse_oom_events("low 0\nhigh 12\nmax 310\noom 2\noom_kill 3\noom_group_kill 1\n");
  EXPECT_EQ(v2.ooms, 2);
  EXPECT_EQ(v2.kills, 3);
  EXPECT_EQ(v2.group_kills, 1);
  const OomEvents v1 = parse_oom_events("oom_kill_disable 0\nunder_oom 1\noom_kill 34\n");
  EXPECT_EQ(v1.ooms, kNone);
  EXPECT_EQ(v1.kills, 34);
  EXPECT_EQ(parse_oom_events("").kills, kNone);
  EXPECT_EQ(parse_oom_events("oom_kill -1\noom_kill x\noom_kill\n").kills, kNone);
}

TEST(IsDying, WhenASigkillIsPendingOrTheMemoryIsGone) {
  const std::string well =
      "State:\tR (running)\nVmRSS:\t 5004 kB\nSigPnd:\t0000000000000000\n"
      "ShdPnd:\t0000000000004002\nSigBlk:\t0000000000000100\n";
  EXPECT_FALSE(is_dying(well));
  for (const char* line : {"SigPnd:\t0000000000000100\n", "ShdPnd:\t0000000000000100\n"}) {
    EXPECT_TRUE(is_dying(well + line)) << line;
  }
  EXPECT_TRUE(is_dying("State:\tZ (zombie)\nSigPnd:\t0000000000000000\n"));
  EXPECT_TRUE(is_dying(""));  // reaped
}

TEST(OomdMark, IsANumberInDigits) {
  EXPECT_EQ(parse_oomd_mark("12"), 12);
  EXPECT_EQ(parse_oomd_mark(""), 0);
  EXPECT_EQ(parse_oomd_mark("-1"), 0);
  EXPECT_EQ(parse_oomd_mark("twelve"), 0);
}

TEST(LimitOwner, IsSlurmsWordOrTheGroup) {
  EXPECT_EQ(limit_owner("/slurm/uid_7/job_42/step_0/task_0", true),
            "that of step 0 of the Slurm job 42");
  EXPECT_EQ(limit_owner("/system.slice/n7_slurmstepd.scope/job_42/step_batch", false),
            "that of step batch of the Slurm job 42");
  EXPECT_EQ(limit_owner("/slurm/uid_7/job_42", false), "that of the Slurm job 42");
  EXPECT_EQ(limit_owner("/a/job_42", false), "that of the control group /a/job_42");
  EXPECT_EQ(limit_owner("/docker/3f", true), "");
  EXPECT_EQ(limit_owner("/a\nb\xff", false), "that of the control group /a?b?");
  EXPECT_LT(limit_owner("/" + std::string(4000, 'x'), false).size(), 200U);
}

}  // namespace
}  // namespace probe
