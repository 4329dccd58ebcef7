#include "view/run_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "view/made_up.hpp"

namespace view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RunPage, SaysWhatThereIsAndLeavesOutWhatThereIsNot) {
  RunPage run;
  run.title = "fit.ipynb";
  run.facts = {{"host", "node7"}};
  const std::string html = run_page(run);
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_THAT(html, HasSubstr("<h1>fit.ipynb</h1>"));
  EXPECT_THAT(html, HasSubstr("<th>host</th><td>node7</td>"));
  EXPECT_THAT(html, Not(HasSubstr("<iframe")));
  EXPECT_THAT(html, Not(HasSubstr("<h2>")));
}

TEST(RunPage, EscapesEverythingOfTheUsers) {
  const std::string payload = "</pre></title><script>x</script>\"'\x1b[31m";
  RunPage run;
  run.title = payload;
  run.facts = {{payload, payload}};
  run.rows = {{made_up::summary(), payload}};
  run.remarks = {payload};
  const std::string html = run_page(run);
  EXPECT_THAT(html, Not(HasSubstr("<script>x")));
  EXPECT_THAT(html, Not(HasSubstr("</pre></title>")));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  EXPECT_THAT(html, HasSubstr("<details id=\"cell-4\">"));
}

TEST(RunPage, ForbidsWhatIsOutside) {
  EXPECT_THAT(run_page({}), HasSubstr("Content-Security-Policy\" content=\"default-src 'none'"));
}

}  // namespace
}  // namespace view
