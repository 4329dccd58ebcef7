#include "watch/sampler_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace watch {
namespace {

using ::testing::ElementsAre;

TEST(SamplerCommand, NumbersWhatIsInheritedFromThreeOn) {
  WatchOptions options;
  options.program = "/opt/jumper";
  const SamplerCommand command = sampler_command(options, 700, 2.5, {11, 12, -1, 13, 4096});
  EXPECT_THAT(command.descriptors, ElementsAre(11, 12, 13));
  EXPECT_THAT(command.arguments, ElementsAre("/opt/jumper", "sample", "--socket", "3",
                                             "--recording", "4", "--root-pid", "700", "--rate",
                                             "2.5", "--spill", "5", "--spill-offset", "4096"));
}

TEST(SamplerCommand, SaysOnlyWhatTheUserHasChosen) {
  WatchOptions options;
  options.program = "jumper";
  options.most_bytes = 1 << 20;
  options.keep_days = 0;
  options.keep_bytes = 5;
  options.process_level = false;
  options.node_level = false;
  const SamplerCommand command = sampler_command(options, 7, 10, {3, 4, 5, -1, 0});
  EXPECT_THAT(command.descriptors, ElementsAre(3, 4, 5));
  EXPECT_THAT(command.arguments,
              ElementsAre("jumper", "sample", "--socket", "3", "--recording", "4", "--root-pid",
                          "7", "--rate", "10", "--root-pidfd", "5", "--most-bytes", "1048576",
                          "--keep-days", "0", "--keep-bytes", "5", "--no-process", "--no-node"));
}

}  // namespace
}  // namespace watch
