#include "probe/pressure.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "actor.hpp"
#include "allocations.hpp"
#include "host_tree.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

constexpr record::Value kNone = unknown(State::kNotSupported);

struct Reader {
  explicit Reader(const std::string& root) : pressure(root, missing), buffer(1 << 15) {}
  std::map<std::string, record::Value> read() {
    std::vector<record::Value> values(pressure.columns().size());
    pressure.read(values, Turn{1, true, buffer});
    std::map<std::string, record::Value> named;
    for (std::size_t i = 0; i < values.size(); ++i) named[pressure.columns()[i].name] = values[i];
    return named;
  }
  MissingList missing;
  Pressure pressure;
  std::vector<char> buffer;
};

TEST(PressureTotals, AreInNanoseconds) {
  const auto totals = parse_pressure(
      "some avg10=0.18 avg60=0.03 avg300=0.06 total=352408439\n"
      "full avg10=0.18 avg60=0.03 avg300=0.04 total=43658874\n");
  EXPECT_EQ(totals.some_ns, 352'408'439'000);
  EXPECT_EQ(totals.full_ns, 43'658'874'000);
}

TEST(PressureTotals, HaveNoFullWhereTheTextHasNone) {
  const auto totals = parse_pressure("some avg10=0.18 avg60=0.03 avg300=0.06 total=5\n");
  EXPECT_EQ(totals.some_ns, 5000);
  EXPECT_EQ(totals.full_ns, kNone);
}

TEST(PressureTotals, LeaveOutWhatIsNoNumber) {
  for (const auto* text : {"", "some", "some avg10=0.00 total=\n", "some total=-1\n",
                           "some total=99999999999999999999", "some total=1.5", "sometotal=5",
                           "half avg10=0.00 total=5\n", "some tota"}) {
    const auto totals = parse_pressure(text);
    EXPECT_EQ(totals.some_ns, kNone) << text;
    EXPECT_EQ(totals.full_ns, kNone) << text;
  }
}

TEST(Pressure, HasAColumnForEachKindThatSaysSomething) {
  Reader reader(JUMPER_TEST_DATA "/hosts/made/server");
  EXPECT_EQ(reader.read(), (std::map<std::string, record::Value>{
                               {"node.pressure_cpu_some_ns", 987'654'321'000},
                               {"node.pressure_memory_some_ns", 2'001'000},
                               {"node.pressure_memory_full_ns", 1'002'000},
                               {"node.pressure_io_some_ns", 6'601'233'408'000},
                               {"node.pressure_io_full_ns", 5'501'233'408'000}}));
  EXPECT_TRUE(reader.missing.list().empty());
}

TEST(Pressure, NeverFallsAndIsUnknownWhereATextIsCut) {
  const HostTree host;
  const std::string whole = "some avg10=0.00 total=123456\nfull avg10=0.00 total=7890\n";
  for (const auto* name : {"cpu", "memory", "io"}) {
    host.write(std::string("proc/pressure/") + name, whole);
  }
  Reader reader(host.root());
  const auto before = reader.read();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    host.write("proc/pressure/io", whole.substr(0, size));
    for (const auto& [name, value] : reader.read()) {
      EXPECT_TRUE(value == before.at(name) || !record::is_known(value)) << name << " " << size;
    }
  }
  host.write("proc/pressure/io", "some avg10=0.00 total=5\nfull avg10=0.00 total=7891\n");
  EXPECT_EQ(reader.read().at("node.pressure_io_some_ns"), 123'456'000);
  EXPECT_EQ(reader.read().at("node.pressure_io_full_ns"), 7'891'000);
}

TEST(Pressure, SaysWhyThereIsNone) {
  const HostTree host;
  Reader reader(host.root());
  for (const auto& [name, value] : reader.read()) EXPECT_EQ(value, kNone) << name;
  ASSERT_EQ(reader.missing.list().size(), 5U);
  EXPECT_NE(reader.missing.list()[0].reason.find("built without PSI"), std::string::npos);
  EXPECT_NE(pressure_refusal(EOPNOTSUPP).reason.find("psi=1"), std::string::npos);
  EXPECT_EQ(pressure_refusal(EOPNOTSUPP).state, State::kNotSupported);
  EXPECT_EQ(pressure_refusal(EACCES).state, State::kNotPermitted);
}

TEST(Pressure, SaysWhenTheFilesAreThereAndCannotBeRead) {
  const HostTree host;
  std::filesystem::create_directories(host.root() + "/proc/pressure/io");  // reading it fails
  Reader reader(host.root());
  EXPECT_EQ(reader.read().at("node.pressure_io_full_ns"), kNone);
  EXPECT_EQ(reader.missing.list().back().name, "node.pressure_io_full_ns");
  EXPECT_NE(reader.missing.list().back().reason.find("can't be read"), std::string::npos);
}

// Twice as many threads that want to run as there are cores.
TEST(Pressure, GrowsWhileThreadsWaitForACore) {
  Reader reader("/");
  const record::Value before = reader.read().at("node.pressure_cpu_some_ns");
  if (!record::is_known(before)) GTEST_SKIP() << reader.missing.list().front().reason;
  const Actor actor([](const Cue& cue) {
    const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 1; i < 2 * cores; ++i) child([] { burn(10'000 * kMilli); });
    cue.tell(0);
    burn(10'000 * kMilli);
  });
  actor.heard();
  EXPECT_TRUE(eventually(
      [&] { return reader.read().at("node.pressure_cpu_some_ns") > before + 20 * kMilli; }));
}

TEST(Pressure, AllocatesNothing) {
  Reader reader("/");
  std::vector<record::Value> values(reader.pressure.columns().size());
  const std::int64_t before = allocations();
  for (int i = 0; i < 20; ++i) reader.pressure.read(values, Turn{1 + i, true, reader.buffer});
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace probe
