#include "view/escape.hpp"

#include <gtest/gtest.h>

#include "view/history.hpp"
#include "view/units.hpp"

namespace view {
namespace {

TEST(Escape, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(html_escaped("a\xFF"), "a\uFFFD");
  EXPECT_EQ(html_escaped("\xC0\xAF"), "\uFFFD\uFFFD");                 // overlong
  EXPECT_EQ(html_escaped("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");       // a lone surrogate
  EXPECT_EQ(html_escaped("\xF4\x90\x80\x80").substr(0, 3), "\uFFFD");  // beyond U+10FFFF
  EXPECT_EQ(html_escaped("\xE2\x82"), "\uFFFD\uFFFD");                 // cut
  EXPECT_EQ(html_escaped("größe \U0001F600 \uFFFD"), "größe \U0001F600 \uFFFD");
}

TEST(Escape, MakesMarkupAndControlsVisible) {
  EXPECT_EQ(html_escaped("<a href=\"x\" b='y'>&amp;"),
            "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
  EXPECT_EQ(html_escaped(std::string_view("\0\x1b\x7f\r", 4)), "\\x00\\x1b\\x7f\\r");
  EXPECT_EQ(html_escaped("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(html_escaped("\u0085\u009b\u202e\u2066\u200f"), "\\u0085\\u009b\\u202e\\u2066\\u200f");
}

TEST(Escape, KeepsEveryOtherByteForTwoBytes) {
  // All texts of two bytes: never markup, never a control, never longer than six for one.
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      const std::string out = html_escaped(text);
      for (std::size_t i = 0; i < out.size();) {
        const CodePoint point = first_code_point(std::string_view(out).substr(i));
        ASSERT_TRUE(!is_control(point.value) || point.value == '\n' || point.value == '\t');
        ASSERT_TRUE(point.value != '<' && point.value != '>' && point.value != '"');
        i += point.bytes;
      }
    }
  }
}

TEST(Escape, CutsOneLineBetweenCodePoints) {
  EXPECT_EQ(one_line("größe", 5), "größe");
  EXPECT_EQ(one_line("größer", 5), "größ…");
  EXPECT_EQ(one_line("a\nb", 10), "a\\nb");
  EXPECT_EQ(one_line("", 5), "");
  EXPECT_EQ(one_line("\x1b", 2), "…");
}

TEST(Escape, FindsTheFirstLine) {
  EXPECT_EQ(first_line("\r\n \t x = 1 \r\ny"), "x = 1 ");
  EXPECT_EQ(first_line("one"), "one");
  EXPECT_EQ(first_line(" \n"), "");
}

TEST(Escape, PadsByCodePoints) {
  EXPECT_EQ(width("größe"), 5U);
  EXPECT_EQ(padded("ö", 3), "ö  ");
  EXPECT_EQ(padded("long", 3), "long");
}

TEST(Units, ShowThreeDigitsThatCount) {
  EXPECT_EQ(seconds_text(0), "0 s");
  EXPECT_EQ(seconds_text(0.00035), "350 µs");
  EXPECT_EQ(seconds_text(0.35), "350 ms");
  EXPECT_EQ(seconds_text(0.9996), "1.00 s");
  EXPECT_EQ(seconds_text(6.019), "6.02 s");
  EXPECT_EQ(seconds_text(59.94), "59.9 s");
  EXPECT_EQ(seconds_text(59.96), "1 min 00 s");
  EXPECT_EQ(seconds_text(185), "3 min 05 s");
  EXPECT_EQ(seconds_text(3599.7), "1 h 00 min");
  EXPECT_EQ(seconds_text(7440), "2 h 04 min");
  EXPECT_EQ(percent_text(0), "0 %");
  EXPECT_EQ(percent_text(1.26), "1.3 %");
  EXPECT_EQ(percent_text(98.71), "98.7 %");
  EXPECT_EQ(percent_text(99.97), "100 %");
  EXPECT_EQ(cores_text(1), "1 core");
  EXPECT_EQ(cores_text(1.5), "1.5 cores");
  EXPECT_EQ(cores_text(128), "128 cores");
}

}  // namespace
}  // namespace view
