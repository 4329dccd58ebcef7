#include "watch/line_table.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace watch {
namespace {

using Table = std::vector<std::uint8_t>;

Table from_hex(const std::string& hex) {
  Table table;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    table.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return table;
}

class LineTableOf : public ::testing::TestWithParam<const char*> {};

// What each CPython's own co_lines() says of a made-up module: tests/data/line_tables/make.py.
TEST_P(LineTableOf, IsReadAsPythonDoes) {
  std::ifstream file(std::string(JUMPER_TEST_DATA "/line_tables/") + GetParam() + ".txt");
  int codes = 0;
  int instructions = 0;
  for (std::string text; std::getline(file, text); ++codes) {
    std::istringstream words(text);
    std::int64_t first_line = 0;
    std::string hex;
    words >> first_line >> hex;
    const Table table = from_hex(hex);
    std::size_t end = 0;
    for (std::string range; words >> range;) {
      std::size_t begin = 0;
      std::int64_t line = 0;
      char dash = 0;
      char colon = 0;
      std::istringstream(range) >> begin >> dash >> end >> colon >> line;
      for (std::size_t offset = begin; offset < end; offset += 2, ++instructions) {
        EXPECT_EQ(line_of(table, first_line, offset).value_or(0), line) << text << " at " << offset;
      }
    }
    EXPECT_FALSE(line_of(table, first_line, end));
  }
  EXPECT_GE(codes, 8);
  EXPECT_GT(instructions, 300);
}

INSTANTIATE_TEST_SUITE_P(CPython, LineTableOf, ::testing::Values("3.11", "3.12", "3.13"),
                         [](const auto& version) {
                           std::string name(version.param);
                           name[1] = '_';
                           return name;
                         });

TEST(LineTable, HasAllKindsOfEntries) {
  // Two units in line 5; one, two lines further; one without columns, 100 lines back; three of no
  // line; one in a long form.
  const Table table{0x81, 0x00, 0xE0, 0x01, 0x02, 0xE8, 0x49, 0x03, 0xFA, 0xF0, 0x04, 0x00, 1, 2};
  EXPECT_EQ(line_of(table, 105, 0), 105);
  EXPECT_EQ(line_of(table, 105, 3), 105);
  EXPECT_EQ(line_of(table, 105, 4), 107);
  EXPECT_EQ(line_of(table, 105, 6), 7);
  EXPECT_EQ(line_of(table, 105, 8), std::nullopt);
  EXPECT_EQ(line_of(table, 105, 12), std::nullopt);
  EXPECT_EQ(line_of(table, 105, 14), 9);
  EXPECT_EQ(line_of(table, 105, 16), std::nullopt);
}

TEST(LineTable, OfTornBytesGivesNoLine) {
  EXPECT_FALSE(line_of({}, 1, 0));
  EXPECT_FALSE(line_of(Table{0x01}, 1, 0));              // no entry
  EXPECT_FALSE(line_of(Table{0xE8}, 1, 0));              // cut
  EXPECT_FALSE(line_of(Table{0xE8, 0x7F}, 1, 0));        // cut in a number
  EXPECT_FALSE(line_of(Table{0xE8, 0x7F, 0x80}, 1, 0));  // the next entry within it
  EXPECT_FALSE(line_of(Table{0xE8, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x01}, 1, 0));
  EXPECT_FALSE(line_of(Table{0xE8, 0x7E, 0x7F, 0x7F, 0x7F, 0x7F, 0x1F}, 1, 0));  // too many lines
  EXPECT_FALSE(line_of(Table{0xE8, 0x05}, 1, 0));                                // line -1
}

TEST(LineTable, OfEveryCutIsRead) {
  std::ifstream file(JUMPER_TEST_DATA "/line_tables/3.12.txt");
  std::int64_t first_line = 0;
  std::string hex;
  file >> first_line >> hex;
  const Table table = from_hex(hex);
  for (std::size_t size = 0; size < table.size(); ++size) {
    const std::span<const std::uint8_t> cut(table.data(), size);
    for (std::size_t offset = 0; offset < 16 * size + 16; offset += 2) {
      const auto line = line_of(cut, first_line, offset);
      if (line) {
        EXPECT_EQ(line, line_of(table, first_line, offset));
      }
    }
  }
}

}  // namespace
}  // namespace watch
