#pragma once
// One custom monitor as its reader sees it: bytes in, values out, until it is cut off. No thread,
// no descriptor; the clock is passed in.
//
// It is cut off, for good, when it
//   names no metrics within kMostNsToBegin, or prints nothing for five of its periods
//   (kLeastSilence
//     at least);
//   prints more than kMostLinesASecond or kMostBytesASecond, or a line of more than kMostLineBytes;
//   prints what is no such line, values before metrics, other metrics than before, values of what
//     it hasn't named, a counter below 0, a time that is still to come;
//   ends.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/records.hpp"
#include "tools/monitor_lines.hpp"

namespace tools {

class MonitorStream {
 public:
  static constexpr std::int64_t kMostNsToBegin = 30'000'000'000;  // imports take their time
  static constexpr std::int64_t kLeastSilenceNs = 5'000'000'000;
  static constexpr std::size_t kMostLinesASecond = 1000;
  static constexpr std::size_t kMostBytesASecond = 1U << 20;

  // `rate_hz`: how often it means to print.
  MonitorStream(double rate_hz, std::int64_t now_ns);

  // What it has printed. False: it is cut off, now or before.
  bool take(std::string_view bytes, std::int64_t now_ns);
  // Its output has ended. Cut off.
  void end();
  // Looks whether it is silent for too long. False: as above.
  bool look(std::int64_t now_ns);
  // When look() is due.
  [[nodiscard]] std::int64_t deadline_ns() const noexcept { return deadline_ns_; }

  // Why it is cut off; "": it isn't.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  [[nodiscard]] const std::vector<MonitorMetric>& metrics() const noexcept { return metrics_; }
  // As many as metrics(); unknown until it says otherwise, and from its end on.
  [[nodiscard]] const std::vector<record::Value>& values() const noexcept { return values_; }

 private:
  void cut(std::string reason);
  bool take_line(std::string_view line, std::int64_t now_ns);
  bool take_metrics(std::vector<MonitorMetric> metrics);
  bool take_values(const MonitorValues& values, std::int64_t now_ns);
  bool floods(std::size_t bytes, std::size_t lines, std::int64_t now_ns);

  std::int64_t silence_ns_;
  std::int64_t deadline_ns_;
  std::int64_t second_ns_;  // when the present second began
  std::size_t lines_ = 0;   // in it
  std::size_t bytes_ = 0;
  std::string rest_;  // a line that has no end yet
  std::string reason_;
  std::vector<MonitorMetric> metrics_;
  std::vector<record::Value> values_;
};

}  // namespace tools
