#include "watch/stack_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace watch {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(StackText, HasThreadsAndTheirFrames) {
  ThreadStack other{43, "python", false, false, true, true, {{"work", "/x/w.py", 7}}};
  ThreadStack main{42, "", true, false, false, false, {{"f", "/x/m.py", 12}, {"<module>", "m", 0}}};
  ThreadStack holder{44, "ipykernel", false, true, false, false, {}};
  EXPECT_EQ(stacks_text({other, main, holder}, true),
            "thread 44 \"ipykernel\" · holds the GIL\n"
            "  no Python code\n"
            "thread 42 · main thread\n"
            "  /x/m.py:12 in f\n"
            "  m:? in <module>\n"
            "thread 43 \"python\" · changed while it was read\n"
            "  /x/w.py:7 in work\n"
            "  … called from more\n"
            "… and more threads\n");
  EXPECT_EQ(stacks_text({}, false), "");
}

TEST(StackText, HasNoControlCharactersOfForeignNames) {
  ThreadStack thread{
      1, "a\x1b[2J\n", true, false, false, false, {{"f\r\n\x7F", "\x1b]0;x\x07", 1}}};
  const std::string text = stacks_text({thread}, false);
  EXPECT_TRUE(std::ranges::all_of(text, [](char one) {
    return one == '\n' || (static_cast<unsigned char>(one) >= 0x20 && one != 0x7F);
  })) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
}

TEST(StackText, IsCutBetweenLines) {
  ThreadStack thread{1, "", true, false, false, false, {}};
  for (std::int64_t i = 1; i <= 100; ++i) {
    thread.frames.push_back({std::string(200, 'f'), std::string(200, '/'), i});
  }
  const std::string one = stacks_text({thread}, false);
  EXPECT_THAT(one, Not(HasSubstr("cut")));
  const std::string text = stacks_text({thread, thread}, true);
  EXPECT_LE(text.size(), kMostStackTextBytes);
  EXPECT_GT(text.size(), kMostStackTextBytes - 500);
  EXPECT_THAT(text, EndsWith("f\n… the rest is cut\n"));
}

}  // namespace
}  // namespace watch
