#pragma once
// A tree under observation, with the checks that hold for every tree at every tick.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "actor.hpp"
#include "base/clock.hpp"
#include "probe/missing.hpp"
#include "probe/processes.hpp"

namespace probe {

class WatchedTree {
 public:
  explicit WatchedTree(pid_t root, pid_t excluded = 0) : tree_("/", root, excluded, missing_) {}

  // Reads it, looking for new processes as if one had been started.
  const Amounts& tick() { return tick_at(base::monotonic_ns()); }
  // The same a second later than the last listing, so that all of /proc is listed.
  const Amounts& tick_with_listing() {
    later_ns_ += 1'100 * kMilli;
    return tick();
  }
  // Nobody has started a process: nothing is looked for.
  const Amounts& tick_quietly() {
    --forks_;
    return tick();
  }

  [[nodiscard]] bool has(pid_t pid) { return tree_.find(pid) != nullptr; }
  [[nodiscard]] std::size_t size() const { return tree_.list().size(); }
  [[nodiscard]] const Amounts& root_total() const { return tree_.root_total(); }
  [[nodiscard]] std::int64_t cpu_ns() const { return tree_.total().cpu_ns; }
  [[nodiscard]] Processes& processes() { return tree_; }

  [[nodiscard]] const MissingList& missing() const { return missing_; }
  [[nodiscard]] std::string reason_of(std::string_view name) const {
    for (const auto& missing : missing_.list()) {
      if (missing.name == name) return missing.reason;
    }
    return {};
  }
  [[nodiscard]] bool says_lower_bound() const {
    return reason_of("process").starts_with("lower bound: ");
  }

 private:
  const Amounts& tick_at(std::int64_t now_ns) {
    const Amounts before = tree_.total();
    const Amounts root_before = tree_.root_total();
    tree_.tick(++forks_, now_ns + later_ns_, buffer_);
    EXPECT_GE(tree_.total().cpu_ns, before.cpu_ns);
    EXPECT_GE(tree_.root_total().cpu_ns, root_before.cpu_ns);
    for (std::size_t i = 0; i < before.io.size(); ++i) {
      EXPECT_GE(tree_.total().io[i], before.io[i]);
      EXPECT_GE(tree_.root_total().io[i], root_before.io[i]);
    }
    for (std::size_t i = 0; i < before.faults.size(); ++i) {
      EXPECT_GE(tree_.total().faults[i], before.faults[i]);
      EXPECT_GE(tree_.root_total().faults[i], root_before.faults[i]);
    }
    return tree_.total();
  }

  MissingList missing_;
  Processes tree_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  std::int64_t forks_ = 0;
  std::int64_t later_ns_ = 0;
};

// Children's times are shown in two fields of 10 ms each; nothing may be counted that wasn't used.
inline void expect_between(std::int64_t counted, std::int64_t least, std::int64_t most) {
  EXPECT_GE(counted, least - kChildrenSlackNs);
  EXPECT_LE(counted, most);
}

}  // namespace probe
