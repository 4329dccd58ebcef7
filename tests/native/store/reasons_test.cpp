#include "store/reasons.hpp"

#include <gtest/gtest.h>

#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;
using record::State;

std::string recorded(const std::vector<record::Missing>& missing, std::string_view metric,
                     std::int64_t time_ns = 100) {
  Recorder recorder;
  for (const record::Missing& one : missing) recorder.add(one);
  const Recording recording = recorder.open();
  return Reasons(recording, time_ns).recorded("node", metric).value_or("none");
}

TEST(Reasons, AreFoundByMetricFamilyAndLevel) {
  for (const std::string name : {"node.io_read_bytes", "node.io_*", "node.io", "node", "node.*"}) {
    EXPECT_EQ(recorded({{1, name, State::kNotPermitted, "why"}}, "io_read_bytes"),
              "not permitted: why")
        << name;
  }
  for (const std::string name : {"node.io_write_bytes", "node.i", "nod", "nodes.io", "process.io",
                                 "node.io_read_bytes_more"}) {
    EXPECT_EQ(recorded({{1, name, State::kNotPermitted, "why"}}, "io_read_bytes"), "none") << name;
  }
}

TEST(Reasons, AreTheNewestUpToThen) {
  const std::vector<record::Missing> missing{{10, "node.io", State::kNotYet, "first"},
                                             {20, "node.io", State::kVanished, "second"},
                                             {30, "node.io", State::kMeasured, ""}};
  EXPECT_EQ(recorded(missing, "io_read_ops", 5), "none");
  EXPECT_EQ(recorded(missing, "io_read_ops", 15), "not yet: first");
  EXPECT_EQ(recorded(missing, "io_read_ops", 25), "vanished: second");
  EXPECT_EQ(recorded(missing, "io_read_ops", 35), "none");
}

TEST(Reasons, AreNeverEmpty) {
  EXPECT_EQ(recorded({{1, "node.io", State::kNotSupported, ""}}, "io_read_ops"),
            "not supported: no reason was recorded");
}

}  // namespace
}  // namespace store
