// What becomes of a custom monitor by what it prints.
#include "tools/monitor_stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/real.hpp"

namespace tools {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr const char* kMetrics =
    R"({"metrics": [{"name": "loss"}, {"name": "bytes", "unit": "bytes", "kind": "counter"}]})"
    "\n";

std::optional<double> number(const MonitorStream& stream, std::size_t place) {
  return record::number_of(true, stream.values().at(place));
}

// Why it is cut off after it has named its metrics and printed `line`.
std::string reason_of(const std::string& line) {
  MonitorStream stream(1, kSecond);
  stream.take(kMetrics, kSecond);
  EXPECT_EQ(stream.reason(), "");
  stream.take(line + "\n", 2 * kSecond);
  return stream.reason();
}

std::string reason_of_metrics(const std::string& list) {
  MonitorStream stream(1, kSecond);
  stream.take(R"({"metrics": )" + list + "}\n", kSecond);
  return stream.reason();
}

TEST(MonitorStream, SaysAReasonWithoutColours) {
  EXPECT_EQ(
      reason_of(R"({"end": "it exited: \u001b[1;31mno card\u001b[0m, größe\u001bc 5\u001b[2"})"),
      "it exited: no card, größe 5");
  EXPECT_EQ(reason_of(R"({"end": "a\u0007\u001b[31m\u001b[0m\u001b"})"), "a\\x07");
}

TEST(MonitorStream, HasTheValuesThatWerePrinted) {
  MonitorStream stream(1, kSecond);
  EXPECT_TRUE(stream.take(kMetrics, kSecond));
  ASSERT_EQ(stream.metrics().size(), 2U);
  EXPECT_EQ(stream.metrics()[1], (MonitorMetric{"bytes", "bytes", record::Kind::kCounter, "node"}));
  EXPECT_EQ(stream.values()[0], record::unknown(record::State::kNotYet));
  EXPECT_TRUE(stream.take(R"({"values": {"loss": -0.3, "bytes": 7}, "t_ns": 1000})"
                          "\n",
                          2 * kSecond));
  EXPECT_EQ(number(stream, 0), -0.3);
  EXPECT_EQ(number(stream, 1), 7);
}

TEST(MonitorStream, KeepsAValueUntilThereIsAnotherOrNull) {
  MonitorStream stream(1, kSecond);
  stream.take(kMetrics, kSecond);
  stream.take("{\"values\": {\"loss\": 1, \"bytes\": 2}}\n{\"values\": {\"loss\": 3}}\n", kSecond);
  EXPECT_EQ(number(stream, 0), 3);
  EXPECT_EQ(number(stream, 1), 2);
  stream.take("{\"values\": {\"loss\": null}}\r\n\n", kSecond);
  EXPECT_EQ(number(stream, 0), std::nullopt);
  EXPECT_EQ(stream.reason(), "");
}

TEST(MonitorStream, TakesLinesInAnyPieces) {
  const std::string text = std::string(kMetrics) + "{\"values\": {\"loss\": 0.5}}\n";
  MonitorStream stream(1, kSecond);
  for (const char one : text) EXPECT_TRUE(stream.take({&one, 1}, kSecond));
  EXPECT_EQ(number(stream, 0), 0.5);
}

TEST(MonitorStream, CutsOffWhoPrintsSomethingElse) {
  EXPECT_THAT(reason_of("hello"), HasSubstr("it printed a line that is no JSON object: hello"));
  EXPECT_THAT(reason_of("[1]"), HasSubstr("no JSON object"));
  EXPECT_THAT(reason_of("{\"values\": {\"loss\": NaN}}"), HasSubstr("no JSON object"));
  EXPECT_THAT(reason_of("{\"values\": {\"loss\": 1e999}}"), HasSubstr("no JSON object"));
  EXPECT_THAT(reason_of("{\"values\": {\"loss\": \"1\"}}"),
              HasSubstr("a value of loss that is no number"));
  EXPECT_THAT(reason_of("{\"values\": [1]}"), HasSubstr("values that are no object"));
  EXPECT_THAT(reason_of("{\"what\": 1}"), HasSubstr("an object without metrics or values"));
  EXPECT_THAT(reason_of("\xff\xfe"), HasSubstr("no JSON object"));
}

TEST(MonitorStream, CutsOffWhoLies) {
  EXPECT_THAT(reason_of("{\"values\": {\"other\": 1}}"),
              HasSubstr("a value of other, which it hasn't named"));
  EXPECT_THAT(reason_of("{\"values\": {\"bytes\": -1}}"), HasSubstr("-1 for the counter bytes"));
  EXPECT_THAT(reason_of("{\"values\": {}, \"t_ns\": 3000000000}"), HasSubstr("still to come"));
  EXPECT_THAT(reason_of("{\"values\": {}, \"t_ns\": -1}"), HasSubstr("a t_ns that is no time"));
  EXPECT_THAT(reason_of("{\"metrics\": [{\"name\": \"loss2\"}]}"),
              HasSubstr("other metrics than before"));
}

TEST(MonitorStream, TakesTheSameMetricsTwice) {
  MonitorStream stream(1, kSecond);
  stream.take(kMetrics, kSecond);
  EXPECT_TRUE(stream.take(kMetrics, kSecond));
}

TEST(MonitorStream, ChecksWhatMetricsAreCalled) {
  EXPECT_THAT(reason_of_metrics("[]"), HasSubstr("no list of objects"));
  EXPECT_THAT(reason_of_metrics("[1]"), HasSubstr("no object"));
  EXPECT_THAT(reason_of_metrics("[{}]"), HasSubstr("letters, digits and _"));
  EXPECT_THAT(reason_of_metrics(R"([{"name": "a.b"}])"), HasSubstr("letters, digits and _"));
  EXPECT_THAT(reason_of_metrics(R"([{"name": 7}])"), HasSubstr("letters, digits and _"));
  EXPECT_THAT(reason_of_metrics(R"([{"name": "a"}, {"name": "a"}])"), HasSubstr("a twice"));
  EXPECT_THAT(reason_of_metrics(R"([{"name": "a", "kind": "rate"}])"), HasSubstr("another kind"));
  EXPECT_THAT(reason_of_metrics(R"([{"name": "a", "level": "core"}])"), HasSubstr("another level"));
  EXPECT_THAT(reason_of_metrics(R"([{"name": "a", "unit": "\n"}])"), HasSubstr("a unit"));
  std::string many = "[";
  for (std::size_t i = 0; i <= kMostMonitorMetrics; ++i)
    many += "{\"name\": \"m" + std::to_string(i) + "\"},";
  many.back() = ']';
  EXPECT_THAT(reason_of_metrics(many), HasSubstr("65 metrics: 64 are the most"));
}

TEST(MonitorStream, CutsOffValuesBeforeMetrics) {
  MonitorStream stream(1, kSecond);
  EXPECT_FALSE(stream.take("{\"values\": {}}\n", kSecond));
  EXPECT_THAT(stream.reason(), HasSubstr("before it had named its metrics"));
}

TEST(MonitorStream, CutsOffAHugeLine) {
  MonitorStream stream(1, kSecond);
  stream.take(kMetrics, kSecond);
  const std::string piece(32 << 10, 'x');
  EXPECT_TRUE(stream.take(piece, kSecond));
  EXPECT_TRUE(stream.take(piece, kSecond));
  EXPECT_FALSE(stream.take("x", kSecond));
  EXPECT_THAT(stream.reason(), HasSubstr("a line of more than 64 KiB"));
}

TEST(MonitorStream, CutsOffAFlood) {
  MonitorStream stream(1, kSecond);
  stream.take(kMetrics, kSecond);
  const std::string line = "{\"values\": {\"loss\": 1}}\n";
  for (int i = 0; i < 999; ++i) ASSERT_TRUE(stream.take(line, kSecond));
  EXPECT_FALSE(stream.take(line, kSecond));
  EXPECT_THAT(stream.reason(), HasSubstr("more than 1000 lines in a second"));
}

TEST(MonitorStream, LetsAThousandLinesInEachSecondPass) {
  MonitorStream stream(1, 0);
  stream.take(kMetrics, 0);
  for (int i = 1; i < 5; ++i) {
    for (int line = 0; line < 1000; ++line)
      ASSERT_TRUE(stream.take("{\"values\": {}}\n", i * kSecond));
  }
}

TEST(MonitorStream, CutsOffWhoIsSilent) {
  MonitorStream stream(1, kSecond);
  EXPECT_TRUE(stream.look(30 * kSecond));
  stream.take(kMetrics, 30 * kSecond);
  EXPECT_TRUE(stream.look(35 * kSecond - 1));
  EXPECT_FALSE(stream.look(35 * kSecond));
  EXPECT_EQ(stream.reason(), "it printed nothing for 5 s; if that is its pace, say so with --rate");
}

TEST(MonitorStream, WaitsLongerForWhoSaysThatItIsSlow) {
  MonitorStream stream(0.1, 0);
  stream.take(kMetrics, kSecond);
  EXPECT_TRUE(stream.look(50 * kSecond));
  EXPECT_FALSE(stream.look(51 * kSecond));
}

TEST(MonitorStream, CutsOffWhoNamesNoMetrics) {
  MonitorStream stream(1, kSecond);
  EXPECT_FALSE(stream.look(31 * kSecond));
  EXPECT_EQ(stream.reason(), "it named no metrics within 30 s");
}

TEST(MonitorStream, HasNoValuesOnceItIsCutOff) {
  MonitorStream stream(1, kSecond);
  stream.take(kMetrics, kSecond);
  stream.take("{\"values\": {\"loss\": 1}}\n", kSecond);
  EXPECT_FALSE(stream.take("{\"end\": \"it exited with status 3: boom\"}\n", kSecond));
  EXPECT_EQ(stream.reason(), "it exited with status 3: boom");
  EXPECT_EQ(stream.values()[0], record::unknown(record::State::kVanished));
  EXPECT_FALSE(stream.take(kMetrics, kSecond));
}

TEST(MonitorStream, EndsWithItsOutput) {
  MonitorStream stream(1, kSecond);
  stream.end();
  EXPECT_EQ(stream.reason(), "it ended");
}

TEST(MonitorNames, AreOneLowerCaseWordThatIsNobodyElses) {
  EXPECT_EQ(fault_of_monitor_name("train_2"), "");
  EXPECT_THAT(fault_of_monitor_name(""), HasSubstr("lower-case"));
  EXPECT_THAT(fault_of_monitor_name("Train"), HasSubstr("lower-case"));
  EXPECT_THAT(fault_of_monitor_name("a.b"), HasSubstr("lower-case"));
  EXPECT_THAT(fault_of_monitor_name("gpu7"), HasSubstr("our own devices"));
}

}  // namespace
}  // namespace tools
