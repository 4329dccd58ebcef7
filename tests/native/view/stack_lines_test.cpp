#include "view/stack_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>

#include "store/synthetic.hpp"
#include "view/escape.hpp"

namespace view {
namespace {

using namespace synthetic;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::size_t kColumns = 80;
constexpr const char* kWhen = "stacks at 2023-11-14 22:15:00";

class StackLines : public ::testing::Test {
 protected:
  StackLines() {
    setenv("TZ", "UTC", 1);
    tzset();
    recorder_.add(cell_begin(kStart, kStart));               // "x = 1", In [11]
    recorder_.add(cell_begin(kStart, kStart, marks(0), 2));  // "x = 2", In [12]
  }
  std::vector<std::string> lines(const std::string& text, std::size_t columns = kColumns) {
    recorder_.add(record::Stacks{kStart, text});
    return stack_lines(recorder_.open(), columns);
  }
  static std::string cell(const std::string& code) { return "  /tmp/ipykernel_42/" + code + ".py"; }

  Recorder recorder_;
  const std::string first_ = cell("3427300630");
};

TEST_F(StackLines, AreTheNewest) {
  EXPECT_THAT(stack_lines(recorder_.open(), kColumns), IsEmpty());
  lines("thread 1\n");
  EXPECT_THAT(lines("thread 2\n  x.py:4 in g\n"), ElementsAre(kWhen, "thread 2", "  x.py:4 in g"));
  EXPECT_THAT(lines(""), ElementsAre(kWhen));
}

TEST_F(StackLines, LeaveOutWhatRunsTheCell) {
  EXPECT_THAT(lines("thread 1\n" + first_ + ":3 in f\n" + first_ + ":4 in <module>\n" +
                    "  /ipython.py:1 in run\n  /ipython.py:2 in start\n" + "thread 2\n" + first_ +
                    ":2 in g\n  /threading.py:1 in run\n  /threading.py:2 in start\n"),
              ElementsAre(kWhen, "thread 1", "  In [11]:3 in f", "  In [11]:4 in <module>",
                          "  … 2 more of what runs the cell", "thread 2", "  In [11]:2 in g",
                          "  /threading.py:1 in run", "  /threading.py:2 in start"));
}

TEST_F(StackLines, ShowAllCellsThatRunInOneAnother) {
  EXPECT_THAT(lines("thread 1\n" + first_ + ":1 in <module>\n  /ipython.py:1 in run\n" + first_ +
                    ":5 in <module>\n  /ipython.py:1 in run\n"),
              ElementsAre(kWhen, "thread 1", "  In [11]:1 in <module>", "  /ipython.py:1 in run",
                          "  In [11]:5 in <module>", "  /ipython.py:1 in run"));
}

TEST_F(StackLines, LoseTheBeginningOfLongPaths) {
  EXPECT_THAT(lines("thread 1\n  /a/very/long/pαth.py:12 in fit\n", 20),
              ElementsAre("stacks at 2023-11-1…", "thread 1", "  …pαth.py:12 in fit"));
  EXPECT_THAT(lines("  abc\n", 3), ElementsAre("st…", "  …"));
}

TEST_F(StackLines, ArePrintableWhateverIsRecorded) {
  const std::string text = "thread \x1b]0;\x07\n  \xC2\x9B" + std::string(5000, 'y') + "\r\n\x80";
  for (const std::size_t columns : {10U, 80U, 300U}) {
    const std::vector<std::string> shown = lines(text, columns);
    EXPECT_THAT(shown, SizeIs(4));
    for (const std::string& line : shown) {
      EXPECT_LE(width(line), columns);
      EXPECT_TRUE(std::ranges::none_of(line, [](char one) {
        return static_cast<unsigned char>(one) < 0x20 || one == 0x7F;
      })) << line;
      EXPECT_THAT(line, Not(HasSubstr("\xC2\x9B")));
    }
  }
}

TEST_F(StackLines, OfAnEndlessTextAreSome) {
  EXPECT_LT(lines(std::string(1 << 20, '\n')).size(), 13'000U);
}

}  // namespace
}  // namespace view
