// A reader that looks while the writer writes, as the kernel does with its sampler.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "store/recording.hpp"
#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;

TEST(Following, NeverSeesDamageOrLosesARowWhileRowsAreSealed) {
  constexpr std::int64_t kRows = 3000;
  Recorder recorder;
  Recording recording = Recording::follow(recorder.fd());
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (std::int64_t time = 1; time <= kRows; ++time) {
      recorder.row(time, {{"process.cpu_time_ns", time * 7}, {"node.cpu_time_ns", time * time}});
      if (time % 11 == 0) recorder.seal();
      if (time % 50 == 0) recorder.add(cell_begin(time, time, marks(0), time / 50));
    }
    done = true;
  });
  std::int64_t seen = 0;
  bool last_look = false;
  while (!last_look) {
    last_look = done;
    if (!recording.refresh()) ADD_FAILURE() << "reading failed";
    EXPECT_TRUE(recording.damages().empty());
    EXPECT_GE(recording.last_sample_ns(), seen);
    std::int64_t next = seen + 1;
    recording.visit_rows(next, INT64_MAX,
                         [&](const auto&, const record::Rows& rows, std::size_t row) {
                           if (rows.time_ns[row] != next || rows.at(0, row) != next * 7) {
                             ADD_FAILURE() << "row " << rows.time_ns[row] << " instead of " << next;
                             return false;
                           }
                           ++next;
                           return true;
                         });
    EXPECT_EQ(next - 1, recording.last_sample_ns());
    seen = recording.last_sample_ns();
    if (HasFailure()) break;
  }
  writer.join();
  EXPECT_EQ(seen, kRows);
  EXPECT_EQ(recording.cells().size(), static_cast<std::size_t>(kRows / 50));
}

}  // namespace
}  // namespace store
