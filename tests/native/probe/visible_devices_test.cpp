#include "probe/visible_devices.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace probe {
namespace {

using std::string_view_literals::operator""sv;
using Chosen = std::vector<std::size_t>;

const std::vector<VisibleCandidate>& four_cards() {
  static const std::vector<VisibleCandidate> kCards{{"GPU-00000000-aaaa", 10},
                                                    {"GPU-10000000-aaaa", 20},
                                                    {"GPU-20000000-aaaa", 30},
                                                    {"GPU-20000001-aaaa", 40}};
  return kCards;
}

// Card 0 with two slices, card 1 whole.
const std::vector<VisibleCandidate>& slices() {
  static const std::vector<VisibleCandidate> kCards{
      {"GPU-00000000-aaaa", 10},
      {"MIG-50000000-aaaa", 10, true, true, "GPU-00000000-aaaa", 1, 0},
      {"MIG-60000000-aaaa", 10, true, true, "GPU-00000000-aaaa", 2, 0},
      {"GPU-10000000-aaaa", 20}};
  return kCards;
}

Chosen chosen(const std::optional<std::string>& list,
              const std::vector<VisibleCandidate>& cards = four_cards()) {
  return select_visible(list, cards).chosen;
}

TEST(VisibleDevices, AreReadFromAnEnvironment) {
  const auto visible =
      parse_environ("HOME=/home/user\0CUDA_VISIBLE_DEVICES=3,1\0CUDA_DEVICE_ORDER=PCI_BUS_ID\0"sv);
  EXPECT_EQ(visible.list, "3,1");
  EXPECT_TRUE(visible.bus_order);
}

TEST(VisibleDevices, AreAllWhenTheVariableIsNotSet) {
  for (const auto text :
       {""sv, "\0\0"sv, "HOME=/\0"sv, "CUDA_VISIBLE_DEVICES"sv, "XCUDA_VISIBLE_DEVICES=1\0"sv,
        "A=CUDA_VISIBLE_DEVICES=1\0"sv, "CUDA_VISIBLE_DEVICES_X=1\0"sv}) {
    EXPECT_EQ(parse_environ(text).list, std::nullopt) << text;
  }
  EXPECT_EQ(chosen(std::nullopt), (Chosen{0, 1, 2, 3}));
}

TEST(VisibleDevices, AreThoseOfTheFirstOfTwoSettings) {
  EXPECT_EQ(parse_environ("CUDA_VISIBLE_DEVICES=1\0CUDA_VISIBLE_DEVICES=2\0"sv).list, "1");
  EXPECT_FALSE(
      parse_environ("CUDA_DEVICE_ORDER=FASTEST_FIRST\0CUDA_DEVICE_ORDER=PCI_BUS_ID\0"sv).bus_order);
}

TEST(VisibleDevices, MayHaveNoEndOfTheLastEntry) {
  EXPECT_EQ(parse_environ("A=1\0CUDA_VISIBLE_DEVICES=2"sv).list, "2");
  EXPECT_EQ(parse_environ("CUDA_VISIBLE_DEVICES="sv).list, "");
}

TEST(VisibleDevices, ComeInTheOrderOfTheList) {
  EXPECT_EQ(chosen("3,1"), (Chosen{3, 1}));
  EXPECT_EQ(chosen(" 3 ,\t1"), (Chosen{3, 1}));
  EXPECT_EQ(chosen("1,3,"), (Chosen{1, 3}));
  EXPECT_EQ(chosen("1,1,3"), (Chosen{1, 3}));
}

TEST(VisibleDevices, AreCountedByTheirBusAddresses) {
  const std::vector<VisibleCandidate> turned{
      {"GPU-0", 40}, {"GPU-1", 30}, {"GPU-2", 20}, {"GPU-3", 10}};
  EXPECT_EQ(chosen("0,1", turned), (Chosen{3, 2}));
  EXPECT_EQ(chosen(std::nullopt, turned), (Chosen{0, 1, 2, 3}));
}

TEST(VisibleDevices, LeaveOutOfTheCountWhatCannotBeOpened) {
  const std::vector<VisibleCandidate> cards{{"", 0, false, false}, {"GPU-1", 20}, {"GPU-2", 30}};
  EXPECT_EQ(chosen("0", cards), (Chosen{1}));
  EXPECT_EQ(chosen("2", cards), (Chosen{}));
}

TEST(VisibleDevices, AreFoundByUuidAndByItsBeginning) {
  EXPECT_EQ(chosen("GPU-20000000-aaaa"), (Chosen{2}));
  EXPECT_EQ(chosen("GPU-20000000"), (Chosen{2}));
  EXPECT_EQ(chosen("gpu-20000000"), (Chosen{2}));
  EXPECT_EQ(chosen("GPU-1,0"), (Chosen{1, 0}));
}

TEST(VisibleDevices, AreNoneOfAnEmptyList) {
  for (const auto* list : {"", "  ", "-1", "-1,0", ",0", "NoDevFiles"}) {
    const auto selection = select_visible(list, four_cards());
    EXPECT_EQ(selection.chosen, Chosen{}) << list;
    EXPECT_EQ(selection.unmatched, "") << list;
  }
}

TEST(VisibleDevices, EndAtAnEntryThatMeansNothing) {
  struct Row {
    const char* list;
    Chosen chosen;
    const char* unmatched;
  };
  for (const auto& [list, wanted, unmatched] : std::vector<Row>{
           {"0,2,-1,1", {0, 2}, ""},
           {"0,4,1", {0}, "4"},
           {"GPU-2000000,1", {}, "GPU-2000000"},  // two begin so
           {"1,GPU-9,0", {1}, "GPU-9"},
           {"1,none,0", {1}, "none"},
           {"0x1", {}, "0x1"},
           {"1 2", {}, "1 2"},
           {"99999999999999999999", {}, "99999999999999999999"},
           {"MIG-50000000", {}, "MIG-50000000"},
           {"MIG-GPU-0000/1/0", {}, "MIG-GPU-0000/1/0"},
           {"0,\x1b[31m", {0}, "?[31m"},
       }) {
    const auto selection = select_visible(list, four_cards());
    EXPECT_EQ(selection.chosen, wanted) << list;
    EXPECT_EQ(selection.unmatched, unmatched) << list;
  }
  EXPECT_EQ(select_visible(std::string(1000, 'x'), four_cards()).unmatched.size(), 64U);
}

TEST(VisibleDevices, MayBeSlices) {
  EXPECT_EQ(chosen("MIG-60000000-aaaa", slices()), (Chosen{2}));
  EXPECT_EQ(chosen("MIG-5", slices()), (Chosen{1}));
  EXPECT_EQ(chosen("MIG-GPU-00000000-aaaa/2/0", slices()), (Chosen{2}));
  EXPECT_EQ(chosen("MIG-GPU-0000/2/0,1", slices()), (Chosen{2, 3}));
  for (const auto* none :
       {"MIG-", "MIG-GPU-00000000-aaaa/3/0", "MIG-GPU-00000000-aaaa/2/1", "MIG-GPU-1/2/0",
        "MIG-GPU-0/2", "MIG-GPU-0/2/", "MIG-GPU-0//0", "MIG-/", "MIG-GPU-0/-2/0"}) {
    EXPECT_EQ(chosen(none, slices()), Chosen{}) << none;
  }
}

TEST(VisibleDevices, BringTheSlicesOfACardAlong) {
  EXPECT_EQ(chosen("0", slices()), (Chosen{0, 1, 2}));
  EXPECT_EQ(chosen("1", slices()), (Chosen{3}));
  EXPECT_EQ(chosen("MIG-6,GPU-0", slices()), (Chosen{2, 0, 1}));
  EXPECT_EQ(chosen(std::nullopt, slices()), (Chosen{0, 1, 2, 3}));
}

TEST(VisibleDevices, SayWhetherNumbersWereUsed) {
  EXPECT_TRUE(select_visible("1,GPU-0", four_cards()).by_number);
  EXPECT_FALSE(select_visible("GPU-0", four_cards()).by_number);
  EXPECT_FALSE(select_visible(std::nullopt, four_cards()).by_number);
}

}  // namespace
}  // namespace probe
