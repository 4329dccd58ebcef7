#include <gtest/gtest.h>

#include <unistd.h>

#include <cerrno>

#include "record/text.hpp"
#include "store/recording.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

std::string copy_of(const Recording& recording) {
  const base::File file = base::make_memfd("copy");
  EXPECT_TRUE(recording.copy_to(file.fd(), kStart + 7 * kSecond));
  std::string bytes(base::file_size(file.fd()).value_or(0), '\0');
  EXPECT_EQ(base::read_at(file.fd(), bytes, 0), bytes.size());
  return bytes;
}

class Copying : public ::testing::Test {
 protected:
  Copying() {
    recorder_.edge(kStart);
    recorder_.add(cell_begin(kStart, kStart));
    recorder_.row(kStart + 100 * kMs);
    recorder_.add(cell_end(kStart + 200 * kMs, 0));
  }
  Recorder recorder_;
};

TEST_F(Copying, AFinishedRecordingIsCopiedByteByByte) {
  recorder_.add(record::End{kStart + kSecond});
  EXPECT_EQ(copy_of(recorder_.follow()), recorder_.bytes());
}

TEST_F(Copying, ACopyOfARunningOneHasAnEndThatSaysSo) {
  recorder_.row(kStart + 300 * kMs);  // still open
  recorder_.row(kStart + 400 * kMs);
  const std::string bytes = copy_of(recorder_.follow());
  EXPECT_TRUE(bytes.starts_with(recorder_.bytes()));
  const base::File file = file_of(bytes);
  const Recording copy = Recording::open(path_of(file));
  EXPECT_TRUE(copy.damages().empty());
  EXPECT_EQ(copy.last_sample_ns(), kStart + 400 * kMs);
  EXPECT_EQ(copy.cells().size(), 1U);
  ASSERT_TRUE(copy.end());
  EXPECT_EQ(copy.end()->time_ns, kStart + 7 * kSecond);
  EXPECT_EQ(record::end_text(*copy.end()),
            "closed: this is a copy, saved while the recording went on");
  EXPECT_FALSE(copy.is_live());
}

TEST_F(Copying, WhatWasAddedSinceTheLastLookIsThere) {
  Recording recording = recorder_.follow();
  recorder_.add(cell_begin(kStart + kSecond, 0, marks(0), 2));
  recorder_.row(kStart + 2 * kSecond);
  const base::File file = file_of(copy_of(recording));
  const Recording copy = Recording::open(path_of(file));
  EXPECT_TRUE(copy.damages().empty());
  EXPECT_EQ(copy.cells().size(), 2U);
  EXPECT_EQ(copy.last_sample_ns(), kStart + 2 * kSecond);
}

TEST_F(Copying, ATornEndIsLeftOut) {
  recorder_.row(kStart + 300 * kMs);
  const Recording recording = recorder_.follow();
  recorder_.row(kStart + 400 * kMs);
  const std::string whole = recorder_.bytes();
  ASSERT_EQ(::ftruncate(recorder_.fd(), static_cast<off_t>(whole.size() - 3)), 0);
  const base::File file = file_of(copy_of(recording));
  const Recording copy = Recording::open(path_of(file));
  EXPECT_TRUE(copy.damages().empty());
  EXPECT_EQ(copy.last_sample_ns(), kStart + 300 * kMs);
}

TEST_F(Copying, WhereItGoesOnInMemoryThatIsCopiedToo) {
  const std::string bytes = recorder_.bytes();
  const std::size_t half = bytes.size() / 2;
  const base::File first = file_of(std::string_view(bytes).substr(0, half));
  const base::File second = file_of(std::string_view(bytes).substr(half));
  Recording recording = Recording::follow(first.fd());
  recording.set_spill(second.fd(), half);
  ASSERT_TRUE(recording.refresh());
  EXPECT_TRUE(copy_of(recording).starts_with(bytes));
}

TEST_F(Copying, AFileThatBecameShorterIsAnError) {
  const Recording recording = recorder_.follow();
  ASSERT_EQ(::ftruncate(recorder_.fd(), 10), 0);
  const base::File file = base::make_memfd("copy");
  EXPECT_FALSE(recording.copy_to(file.fd(), 1));
  EXPECT_EQ(errno, EIO);
}

TEST_F(Copying, AFullDiskIsAnError) {
  const base::File full = base::File::try_open("/dev/full", 1);
  if (!full.valid()) GTEST_SKIP() << "there is no /dev/full";
  EXPECT_FALSE(recorder_.follow().copy_to(full.fd(), 1));
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace store
