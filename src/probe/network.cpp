#include "probe/network.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace probe {
namespace {

using record::State;

// In the order of Interfaces::Counts.
constexpr std::array<std::string_view, kInterfaceCounts> kMetrics{
    "net_receive_bytes", "net_transmit_bytes", "net_receive_packets", "net_transmit_packets",
    "net_errors"};

std::string column_name(std::string_view level, std::string_view metric) {
  return std::string(level).append(".").append(metric);
}

void say_all(std::string_view level, State state, std::string_view reason, MissingList& missing) {
  for (const auto metric : kMetrics) missing.say(column_name(level, metric), state, reason);
}

// "net:[4026531840]" (namespaces(7)); empty when it can't be read.
std::string namespace_of(const std::string& root, const std::string& process) {
  std::error_code error;
  return std::filesystem::read_symlink(root + "/proc/" + process + "/ns/net", error).string();
}

}  // namespace

Network::Network(const std::string& root, pid_t root_pid, Levels levels, MissingList& missing) {
  if (levels.node) add("node", node_.emplace(root, "/proc/net/dev", "/sys/class/net"), missing);
  if (root_pid != 0 && levels.process) {
    say_all("process", State::kNotSupported, "counted by network namespace only", missing);
  }
  if (root_pid == 0 || !levels.job) return;
  const std::string process = std::to_string(root_pid);
  const std::string of_job = namespace_of(root, process);
  const std::string of_node = namespace_of(root, "self");
  if (of_job.empty() || of_node.empty()) {
    say_all("job", State::kNotPermitted,
            "the system doesn't tell which network namespace the process is in", missing);
  } else if (of_job == of_node) {
    say_all("job", State::kNotSupported, "the job shares the node's network namespace", missing);
  } else {
    // Sysfs shows the namespace of who mounted it, so it can't tell about this one.
    add("job", job_.emplace(root, "/proc/" + process + "/net/dev", ""), missing);
  }
}

void Network::add(std::string_view level, const Interfaces& interfaces, MissingList& missing) {
  for (const auto metric : kMetrics) {
    columns_.push_back({column_name(level, metric), record::Kind::kCounter});
  }
  if (interfaces.file().valid()) return;
  say_all(level, interfaces.file().state(), interfaces.file().reason(), missing);
}

void Network::read(std::span<record::Value> values, const Turn& turn) noexcept {
  if (values.size() != columns_.size()) return;
  std::size_t at = 0;
  for (auto* interfaces : {&node_, &job_}) {
    if (!interfaces->has_value()) continue;
    const auto part = values.subspan(at, kInterfaceCounts);
    at += part.size();
    if ((*interfaces)->read(turn.buffer, turn.now_ns)) {
      std::ranges::copy((*interfaces)->totals(), part.begin());
    } else {
      const bool opened = (*interfaces)->file().valid();
      std::ranges::fill(part,
                        record::unknown(opened ? State::kNotYet : (*interfaces)->file().state()));
    }
  }
}

}  // namespace probe
