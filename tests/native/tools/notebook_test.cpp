#include "tools/notebook.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"

namespace tools {
namespace {

using ::testing::HasSubstr;

std::string summary(int index, const std::string& begin, int version = 1) {
  return R"({"version": )" + std::to_string(version) + R"(, "cell": {"index": )" +
         std::to_string(index) + R"(, "begin": ")" + begin +
         R"(", "outcome": "ok"}, "levels": {}})";
}

std::string cell(const std::string& ours) {
  return R"({"cell_type": "code", "metadata": {"application/vnd.jumper+json": 1}, "source": [],
             "outputs": [{"output_type": "stream", "text": "x"},
                         {"output_type": "display_data", "data": {"text/plain": "…",
                          "application/vnd.jumper+json": )" +
         ours + "}}]}";
}

std::string notebook(const std::string& cells) {
  return R"({"cells": [)" + cells + R"(], "metadata": {"cells": 5}, "nbformat": 4})";
}

std::string error_of(const std::string& text) {
  try {
    summaries_of(text, "a.ipynb");
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

TEST(Notebook, SummariesComeByTheirBeginAndOnce) {
  const auto found = summaries_of(notebook(cell(summary(2, "2026-11-29T15:00:02Z")) + "," +
                                           cell("[" + summary(1, "2026-11-29T15:00:01Z") + "," +
                                                summary(2, "2026-11-29T15:00:02Z") + "]") +
                                           R"(, {"cell_type": "markdown", "source": ""})"),
                                  "a.ipynb");
  ASSERT_EQ(found.objects.size(), 2U);
  EXPECT_THAT(found.objects[0], HasSubstr(R"("index":1)"));
  EXPECT_THAT(found.objects[1], HasSubstr(R"("index":2)"));
  EXPECT_EQ(found.code_cells, 2U);
  EXPECT_EQ(found.newer, 0U);
}

TEST(Notebook, TheSameCellOfTwoKernelsIsTwo) {
  const auto found = summaries_of(notebook(cell(summary(1, "2026-11-28T15:00:00Z")) + "," +
                                           cell(summary(1, "2026-11-29T15:00:00Z"))),
                                  "a.ipynb");
  EXPECT_EQ(found.objects.size(), 2U);
}

TEST(Notebook, WhatIsNewerIsCounted) {
  const auto found = summaries_of(notebook(cell(summary(1, "x", 2))), "a.ipynb");
  EXPECT_TRUE(found.objects.empty());
  EXPECT_EQ(found.newer, 1U);
}

TEST(Notebook, WithoutSummariesIsEmpty) {
  EXPECT_TRUE(summaries_of(notebook(""), "a.ipynb").objects.empty());
  EXPECT_TRUE(
      summaries_of(notebook(cell(R"({"version": 1, "total": {}})")), "a.ipynb").objects.empty());
  EXPECT_TRUE(summaries_of(notebook(cell("[7, null]")), "a.ipynb").objects.empty());
  const std::string running =
      R"({"version": 1, "cell": {"index": 1, "begin": "x", "outcome": null}, "levels": {}})";
  EXPECT_TRUE(summaries_of(notebook(cell(running)), "a.ipynb").objects.empty());
}

TEST(Notebook, WhatIsNoNotebookIsSaidInOneSentence) {
  EXPECT_EQ(error_of("x"),
            "cannot read notebook 'a.ipynb': it is no JSON: cut off, or not a notebook");
  EXPECT_THAT(error_of(notebook(cell(summary(1, "x"))).substr(0, 100)), HasSubstr("cut off"));
  for (const char* other : {"{}", "[]", "null", R"({"cells": 5, "nbformat": 4})",
                            R"({"cells": [], "nbformat": "4"})", R"({"worksheets": []})"}) {
    EXPECT_THAT(error_of(other), HasSubstr("no notebook of format 4")) << other;
  }
}

TEST(Notebook, AFileWithThatNameIsOneUnlessItIsARecording) {
  EXPECT_FALSE(is_notebook("/tmp/x.jumper"));
  EXPECT_TRUE(is_notebook("/nowhere/x.ipynb"));
  EXPECT_THROW(read_notebook("/nowhere/x.ipynb"), base::Error);
  EXPECT_THROW(read_notebook("/dev/null"), base::Error);
}

}  // namespace
}  // namespace tools
