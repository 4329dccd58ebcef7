#include "view/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include "view/made_up.hpp"

namespace view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class History : public ::testing::Test {
 protected:
  History() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};

TEST_F(History, SaysThatThereIsNone) {
  EXPECT_EQ(history_text({}), "no cell has been measured yet");
  EXPECT_EQ(history_html({}), "<div>no cell has been measured yet</div>");
}

TEST_F(History, HasARowForEachCell) {
  HistoryRow first{made_up::summary(), "\n  import numpy\nx = 1\n"};
  HistoryRow second{made_up::summary(), "f()"};
  second.summary.index = 12;
  second.summary.execution_count.reset();
  second.summary.outcome = record::Outcome::kError;
  second.summary.levels.clear();
  second.summary.duration_s = 0.0123;
  EXPECT_EQ(history_text({first, second}),
            "#    In      begin     duration     CPU      peak   I/O read, written  outcome  code\n"
            "#4   In [3]  14:54:20    6.02 s  98.7 %  1.52 GiB  12.0 MiB, 3.10 GiB  ok       "
            "import numpy\n"
            "#12  –       14:54:20   12.3 ms       –         –                   –  error    f()");
  second.summary.begin_wall_ns += 86'400'000'000'000;  // the days stand there when they differ
  EXPECT_THAT(history_text({first, second}), HasSubstr("#12  –       2026-11-30 14:54:20 "));
}

TEST_F(History, HasAColumnForGpusWhereACellHasOne) {
  HistoryRow with{made_up::summary(), "train()"};
  HistoryRow without{made_up::summary(), "x"};
  const std::string plain = history_text({with, without});
  EXPECT_THAT(plain, Not(HasSubstr("GPU")));
  EXPECT_THAT(history_html({with}), Not(HasSubstr(">GPU<")));
  store::MetricSummary busy;
  busy.values.mean = 83.25;
  auto& process = with.summary.levels.front();
  process.others["gpu0.utilization_percent"] = busy;
  busy.values.mean = 12;
  process.others["gpu1.utilization_percent"] = busy;
  const std::string text = history_text({with, without});
  EXPECT_THAT(text, HasSubstr("I/O read, written     GPU  outcome  code\n"));
  EXPECT_THAT(text, HasSubstr("12.0 MiB, 3.10 GiB  83.2 %  ok       train()\n"));
  EXPECT_TRUE(text.ends_with("12.0 MiB, 3.10 GiB       –  ok       x"));
  EXPECT_THAT(history_html({with}), HasSubstr(">83.2 %<"));
}

TEST_F(History, CutsAndEscapesTheCode) {
  HistoryRow row{made_up::summary(),
                 "<b>&\x1b[31m\"größe\xED\xA0\x80\u202E" + std::string(1 << 20, 'x')};
  const std::string text = history_text({row});
  EXPECT_LT(text.size(), 500U);
  EXPECT_THAT(text, HasSubstr("<b>&\\x1b[31m\"größe\uFFFD\uFFFD\uFFFD\\u202exx"));
  EXPECT_TRUE(text.ends_with("xx…"));
  const std::string html = history_html({row});
  EXPECT_LT(html.size(), 3000U);
  EXPECT_THAT(
      html,
      HasSubstr("<code style=\"white-space:nowrap\">&lt;b&gt;&amp;\\x1b[31m&quot;größe\uFFFD"));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  EXPECT_TRUE(html.ends_with("</table>"));
}

TEST_F(History, KeepsFiguresInOneLineBesideLongCode) {
  const std::string html = history_html({{made_up::summary(), std::string(500, 'x')}});
  EXPECT_THAT(html, HasSubstr("white-space:nowrap\">12.0 MiB, 3.10 GiB</td>"));
  EXPECT_THAT(html, HasSubstr("max-width:0;overflow:hidden;text-overflow:ellipsis\"><code"));
}

TEST_F(History, CopesWithEmptyCode) {
  HistoryRow row{made_up::summary(), " \n\n"};
  EXPECT_TRUE(history_text({row}).ends_with("  ok"));
  EXPECT_THAT(history_html({row}), HasSubstr("nowrap\"></code>"));
}

}  // namespace
}  // namespace view
