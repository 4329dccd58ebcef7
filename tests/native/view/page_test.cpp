#include "view/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kOpening = "<script type=\"application/json\" id=\"data\">";

std::string data_of(const std::string& html) {
  const std::size_t begin = html.find(kOpening) + kOpening.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

TEST(Page, HoldsThePolicyTheProgramAndTheDataOnce) {
  const std::string html = page_html("{\"version\":1}");
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(html, HasSubstr("id=\"program\""));
  EXPECT_THAT(html, Not(HasSubstr("@data@")));
  EXPECT_EQ(data_of(html), "{\"version\":1}");
  EXPECT_LT(html.size(), 70'000U);
}

TEST(Page, KeepsMarkupInTheDataFromEndingItsElement) {
  const std::string label = "</script><!-- <img src=x> \u2028\u2029 @data@ \u20ac";
  const nlohmann::json data = {{"label", label}};
  const std::string html = page_html(data.dump());
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<!--")));
  EXPECT_THAT(html, Not(HasSubstr("\u2028")));
  EXPECT_EQ(nlohmann::json::parse(data_of(html))["label"], label);
}

TEST(Page, EndsWhereItsDataEnds) {
  EXPECT_THAT(page_html("\"\xE2\x80"), HasSubstr("\"\xE2\x80</script>"));
}

}  // namespace
}  // namespace view
