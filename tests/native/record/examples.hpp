#pragma once
// One record of each kind, with every field set to something of its own.

#include "record/records.hpp"

namespace record {

inline std::vector<Record> one_of_each() {
  EdgeCounters counters;
  Value value = 100;
  for (const auto field : kEdgeCounterFields) counters.*field = value++;
  counters.children_peak_bytes = unknown(State::kNotPermitted);
  return {
      Machine{1,
              -2,
              "host",
              "boot",
              "6.18",
              "0.1.0",
              "a notebook",
              4711,
              12,
              4712,
              1000,
              8,
              1LL << 40,
              {0, 2, 5},
              "affinity",
              "user",
              "a cgroup",
              "node"},
      Schema{{{"process.cpu_time_ns", Kind::kCounter}, {"process.rss_bytes", Kind::kGauge}}},
      Settings{3, 12.5, "asked for"},
      Missing{4, "node.io_read_bytes", State::kNotSupported, "no such counter"},
      CellBegin{7, 3, 1'000'000'000'000, 1'000'000'100'000, counters, "x = \"\\ud800\"\n", 13},
      CellEnd{7, 4, 1'000'000'200'000, 0, Outcome::kInterrupted, counters},
      Gap{5, 6, GapReason::kSamplerLost, "why"},
      End{9, EndCause::kOutOfMemory, 1, 511 << 20, 512 << 20, "of the job"},
      Device{10, "gpu0", "NVML", "H200", "GPU-1234", 3, 141LL << 30, "MIG"},
      Consumers{11,
                12,
                40,
                1'000,
                {{4713, 77, "py\xff(", 2'000'000, 3 << 20, true},
                 {4714, 78, "", 1, unknown(State::kVanished), false}}},
      Stacks{13, "Thread 1:\n  f.py:3 in f\n"},
      NearLimit{14, "the limit of a control group", 95, 100, {{7, 8, "python", 0, 95, false}}},
      Told{15},
      Group{2, 16, GroupStep::kDropped, "train\xff"},
  };
}

inline Sample sample_at(std::int64_t time_ns, std::vector<Value> values) {
  return {time_ns, 150'000, time_ns / 1000, 0, std::move(values)};
}

}  // namespace record
