#include "base/units.hpp"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Units, ShowThreeDigitsOfASizeThatCount) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(1023.7 * 1024), "1.00 MiB");
  EXPECT_EQ(bytes_text(12.0 * 1024 * 1024), "12.0 MiB");
  EXPECT_EQ(bytes_text(999.6 * 1024), "1000 KiB");
  EXPECT_EQ(bytes_text(1.25 * 1024 * 1024 * 1024), "1.25 GiB");
  EXPECT_EQ(bytes_text(9.2e18), "7.98 EiB");
}

}  // namespace
}  // namespace base
