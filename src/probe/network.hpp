#pragma once
// Traffic of the node's network interfaces, and of a job's that has a network of its own.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probe/interfaces.hpp"
#include "probe/missing.hpp"
#include "probe/source.hpp"

namespace probe {

// Columns <level>.net_receive_bytes, net_transmit_bytes, net_receive_packets, net_transmit_packets,
// net_errors (damaged or dropped, both ways); all counters. Level `node` is the network namespace
// that the sampler is in; level `job` has them only when the root process is in another one. What
// a card does past the kernel (RDMA: InfiniBand verbs) isn't in these counters. A tick costs 25 us
// of CPU with four interfaces (10 ms apart, caches cold).
class Network final : public Source {
 public:
  struct Levels {
    bool node = true;
    bool process = true;  // of which is said that it has none
    bool job = true;
  };
  // `root_pid` 0: there is no process, and no job.
  Network(const std::string& root, pid_t root_pid, Levels levels, MissingList& missing);

  [[nodiscard]] std::string_view name() const noexcept override { return "network"; }
  [[nodiscard]] std::string_view origin() const noexcept override { return "/proc/net/dev"; }
  [[nodiscard]] const std::vector<record::Column>& columns() const noexcept override {
    return columns_;
  }
  [[nodiscard]] bool seldom() const noexcept override { return true; }
  void read(std::span<record::Value> values, const Turn& turn) noexcept override;

 private:
  void add(std::string_view level, const Interfaces& interfaces, MissingList& missing);

  std::optional<Interfaces> node_;
  std::optional<Interfaces> job_;
  std::vector<record::Column> columns_;
};

}  // namespace probe
