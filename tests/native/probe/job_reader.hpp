#pragma once
// Level `job` of one process, and its values by name.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "probe/capacity.hpp"
#include "probe/job.hpp"
#include "probe/missing.hpp"

namespace probe {

class JobReader {
 public:
  JobReader(const std::string& root, pid_t pid)
      : capacity(root, pid, &missing),
        job(root, capacity, missing),
        values(job.columns().size()),
        buffer_(1 << 15) {
    read();
  }

  void read(bool full = true) { job.read(values, Turn{0, full, buffer_}); }
  // A second later, as the sampler does it.
  void read_later() {
    now_ns_ += 2'000'000'000;
    capacity.look(now_ns_);
    read();
  }

  [[nodiscard]] record::Value at(std::string_view metric) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (job.columns()[i].name == std::string("job.").append(metric)) return values[i];
    }
    ADD_FAILURE() << "no column " << metric;
    return record::unknown(record::State::kNotYet);
  }
  // "" when nothing was said.
  [[nodiscard]] std::string reason(std::string_view name) const {
    for (const auto& entry : missing.list()) {
      if (entry.name == name) return entry.reason;
    }
    return {};
  }

  MissingList missing;
  Capacity capacity;
  Job job;
  std::vector<record::Value> values;

 private:
  std::vector<char> buffer_;
  std::int64_t now_ns_ = INT64_MAX / 2;
};

}  // namespace probe
