#include "probe/process_stat.hpp"

#include <limits>

#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr std::int64_t kKernelThread = 0x00200000;  // PF_KTHREAD, include/linux/sched.h

// All faults and the major ones, from the minor and the major ones.
FaultCounts fault_counts(std::int64_t minor, std::int64_t major) noexcept {
  return {std::min(minor + major, kMostNumber), major};
}

// What follows `label` in its line; empty when there is none.
std::string_view labelled(std::string_view text, std::string_view label) noexcept {
  for (Scanner lines(text); !lines.done();) {
    const std::string_view line = lines.line();
    if (line.starts_with(label)) return Scanner(line.substr(label.size())).word();
  }
  return {};
}

}  // namespace

std::optional<ProcessStat> parse_pid_stat(std::string_view text) noexcept {
  const auto bracket = text.rfind(')');
  const auto opening = text.find('(');
  if (bracket == std::string_view::npos) return std::nullopt;
  Scanner fields(text.substr(bracket + 1));
  ProcessStat stat;
  if (opening < bracket) stat.name = ProcessName(text.substr(opening + 1, bracket - opening - 1));
  const std::string_view state = fields.word();
  if (state.size() != 1) return std::nullopt;
  stat.state = state.front();
  const auto parent = fields.number();  // field 4
  fields.skip_words(1);                 // 5: group
  const auto session = fields.number();
  fields.skip_words(2);  // 7, 8: terminal
  const auto flags = fields.number();
  const auto minor = fields.number();
  const auto children_minor = fields.number();
  const auto major = fields.number();
  const auto children_major = fields.number();
  const auto user = fields.number_times(kTickNs);
  const auto system = fields.number_times(kTickNs);
  const auto children_user = fields.number_times(kTickNs);
  const auto children_system = fields.number_times(kTickNs);
  fields.skip_words(2);  // 18, 19: priority, nice
  const auto threads = fields.number();
  fields.skip_words(1);  // 21
  const auto start = fields.number();
  fields.skip_words(1);  // 23: virtual size
  const auto pages = fields.number();
  fields.skip_words(13);  // 25 to 37
  const auto exit_signal = fields.number();
  constexpr std::int64_t kMostPid = std::numeric_limits<pid_t>::max();
  if (!minor || !children_minor || !major || !children_major) return std::nullopt;
  if (!parent || *parent > kMostPid || !user || !system || !children_user || !children_system ||
      !threads || !start || !pages || *pages > (kMostNumber >> 16)) {  // pages of 64 KiB at most
    return std::nullopt;
  }
  stat.parent = static_cast<pid_t>(*parent);
  if (session && *session <= kMostPid) stat.session = static_cast<pid_t>(*session);
  stat.silent = exit_signal == 0;
  stat.kernel_thread = flags && (*flags & kKernelThread) != 0;
  stat.own_faults = fault_counts(*minor, *major);
  stat.children_faults = fault_counts(*children_minor, *children_major);
  stat.own_ns = *user + *system;
  stat.children_ns = *children_user + *children_system;
  stat.threads = *threads;
  stat.start_ticks = *start;
  stat.resident_pages = *pages;
  return stat;
}

std::optional<std::uint64_t> parse_status_sigign(std::string_view text) noexcept {
  const std::string_view digits = labelled(text, "SigIgn:");
  std::uint64_t mask = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, mask, 16);
  if (digits.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return mask;
}

std::optional<uid_t> parse_status_uid(std::string_view text) noexcept {
  const std::string_view digits = labelled(text, "Uid:");
  uid_t uid = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, uid);
  if (digits.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return uid;
}

std::optional<std::int64_t> parse_status_vmhwm(std::string_view text) noexcept {
  return labelled_number(text, "VmHWM:", 1024);
}

std::string_view parse_status_cores(std::string_view text) noexcept {
  return labelled(text, "Cpus_allowed_list:");
}

}  // namespace probe
