#include "tools/monitor_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "record/real.hpp"
#include "record/text.hpp"

namespace tools {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr double kPeriodsOfSilence = 5;

std::int64_t silence_of(double rate_hz) {
  const double period_ns = 1e9 / std::clamp(rate_hz, 1e-4, 1e4);
  return std::max(MonitorStream::kLeastSilenceNs,
                  static_cast<std::int64_t>(kPeriodsOfSilence * period_ns));
}

}  // namespace

MonitorStream::MonitorStream(double rate_hz, std::int64_t now_ns)
    : silence_ns_(silence_of(rate_hz)),
      deadline_ns_(now_ns + std::max(kMostNsToBegin, silence_ns_)),
      second_ns_(now_ns) {}

void MonitorStream::cut(std::string reason) {
  if (!reason_.empty()) return;
  reason_ = std::move(reason);
  rest_.clear();
  std::ranges::fill(values_, record::unknown(record::State::kVanished));
}

bool MonitorStream::take(std::string_view bytes, std::int64_t now_ns) {
  if (!reason_.empty()) return false;
  const auto lines = static_cast<std::size_t>(std::ranges::count(bytes, '\n'));
  if (floods(bytes.size(), lines, now_ns)) return false;
  for (;;) {
    const std::size_t end = bytes.find('\n');
    const std::size_t length = std::min(end, bytes.size());
    if (rest_.size() + length > kMostLineBytes) {
      cut(fmt::format("it printed a line of more than {} KiB", kMostLineBytes >> 10));
      return false;
    }
    if (end == std::string_view::npos) {
      rest_ += bytes;
      return true;
    }
    if (!rest_.empty()) {
      rest_ += bytes.substr(0, end);
      const std::string line = std::exchange(rest_, {});
      if (!take_line(line, now_ns)) return false;
    } else if (!take_line(bytes.substr(0, end), now_ns)) {
      return false;
    }
    bytes.remove_prefix(end + 1);
  }
}

bool MonitorStream::floods(std::size_t bytes, std::size_t lines, std::int64_t now_ns) {
  if (now_ns - second_ns_ >= kSecondNs) {
    second_ns_ = now_ns;
    lines_ = bytes_ = 0;
  }
  lines_ += lines;
  bytes_ += bytes;
  if (lines_ > kMostLinesASecond) {
    cut(fmt::format("it printed more than {} lines in a second", kMostLinesASecond));
  } else if (bytes_ > kMostBytesASecond) {
    cut(fmt::format("it printed more than {} KiB in a second", kMostBytesASecond >> 10));
  }
  return !reason_.empty();
}

bool MonitorStream::take_line(std::string_view line, std::int64_t now_ns) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return true;
  MonitorLine parsed = parse_monitor_line(line);
  if (auto* end = std::get_if<MonitorEnd>(&parsed)) {
    cut(end->reason.empty() ? "it ended" : std::move(end->reason));
    return false;
  }
  if (const auto* fault = std::get_if<MonitorFault>(&parsed)) {
    cut("it printed " + fault->what);
    return false;
  }
  deadline_ns_ = now_ns + silence_ns_;
  if (auto* metrics = std::get_if<MonitorMetrics>(&parsed)) {
    return take_metrics(std::move(metrics->list));
  }
  return take_values(std::get<MonitorValues>(parsed), now_ns);
}

bool MonitorStream::take_metrics(std::vector<MonitorMetric> metrics) {
  if (metrics_.empty()) {
    metrics_ = std::move(metrics);
    values_.assign(metrics_.size(), record::unknown(record::State::kNotYet));
  } else if (metrics != metrics_) {
    cut("it named other metrics than before: they can't change while it runs");
  }
  return reason_.empty();
}

bool MonitorStream::take_values(const MonitorValues& values, std::int64_t now_ns) {
  if (metrics_.empty()) {
    cut("it printed values before it had named its metrics");
    return false;
  }
  if (values.time_ns.value_or(0) > now_ns) {
    cut("it printed a t_ns that is still to come: it must be CLOCK_MONOTONIC");
    return false;
  }
  for (const auto& [name, number] : values.list) {
    const auto metric = std::ranges::find(metrics_, name, &MonitorMetric::name);
    if (metric == metrics_.end()) {
      cut(fmt::format("it printed a value of {}, which it hasn't named as a metric",
                      record::escaped(name, kMostNameBytes)));
      return false;
    }
    if (metric->kind == record::Kind::kCounter && number.value_or(0) < 0) {
      cut(fmt::format("it printed {} for the counter {}: counters only grow from 0 on", *number,
                      name));
      return false;
    }
    values_[static_cast<std::size_t>(metric - metrics_.begin())] =
        number ? record::real_value(*number) : record::unknown(record::State::kNotYet);
  }
  return true;
}

void MonitorStream::end() { cut("it ended"); }

bool MonitorStream::look(std::int64_t now_ns) {
  if (reason_.empty() && now_ns >= deadline_ns_) {
    if (metrics_.empty()) {
      cut(fmt::format("it named no metrics within {:.3g} s",
                      static_cast<double>(std::max(kMostNsToBegin, silence_ns_)) / 1e9));
    } else {
      cut(fmt::format("it printed nothing for {:.3g} s; if that is its pace, say so with --rate",
                      static_cast<double>(silence_ns_) / 1e9));
    }
  }
  return reason_.empty();
}

}  // namespace tools
