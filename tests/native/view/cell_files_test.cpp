#include "view/cell_files.hpp"

#include <gtest/gtest.h>

#include "store/synthetic.hpp"

namespace view {
namespace {

using namespace synthetic;

// From ipykernel 6.29: murmur2_x86(code, get_tmp_hash_seed()).
TEST(CellFiles, HashesAsIpykernelDoes) {
  EXPECT_EQ(cell_hash(""), 3990065800U);
  EXPECT_EQ(cell_hash("x"), 32546335U);
  EXPECT_EQ(cell_hash("xy"), 3424147140U);
  EXPECT_EQ(cell_hash("xyz"), 2282940932U);
  EXPECT_EQ(cell_hash("x = 1"), 3427300630U);
  EXPECT_EQ(cell_hash("größe = 'ü'\n"), 3213075772U);
  EXPECT_EQ(cell_hash(std::string(1000, 'a')), 247841771U);
}

TEST(CellFiles, AreShownByTheirCell) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart));                                // "x = 1", In [11]
  recorder.add(cell_begin(kStart + kSecond, kStart, marks(0), 2));         // "x = 2", In [12]
  recorder.add(cell_begin(kStart + 2 * kSecond, kStart, marks(0), 1000));  // without a count
  const store::Recording recording = recorder.open();
  CellNames names(recording);
  EXPECT_EQ(names.shown("  /tmp/ipykernel_42/3427300630.py:7 in f"), "  In [11]:7 in f");
  EXPECT_EQ(
      names.shown("  /a b/ipykernel_42/" + std::to_string(cell_hash("x = 1000")) + ".py:7 in f"),
      "  #1000:7 in f");
}

TEST(CellFiles, OfOthersStayAsTheyAre) {
  Recorder recorder;
  recorder.add(cell_begin(kStart, kStart));
  const store::Recording recording = recorder.open();
  CellNames names(recording);
  for (const char* line :
       {"", "   ", "thread 1", "  /x/y.py:1 in f", "  /tmp/ipykernel_42/1.py:7 in f",
        "  /tmp/ipykernel_42", "  /tmp/ipykernel_42/", "  /tmp/ipykernel_42/3427300630",
        "  /tmp/ipykernel_42/3427300630.pyc:1",
        "  /tmp/ipykernel_42/34273006303427300630.py:7 in f",
        "  f in /tmp/ipykernel_42/3427300630.py:7"}) {
    EXPECT_EQ(names.shown(line), line);
  }
}

}  // namespace
}  // namespace view
