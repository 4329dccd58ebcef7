#include "probe/process_stat.hpp"

#include <limits>

#include "probe/scan.hpp"

namespace probe {
namespace {

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
  if (bracket == std::string_view::npos) return std::nullopt;
  Scanner fields(text.substr(bracket + 1));
  ProcessStat stat;
  const std::string_view state = fields.word();
  if (state.size() != 1) return std::nullopt;
  stat.state = state.front();
  const auto parent = fields.number();  // field 4
  fields.skip_words(1);                 // 5: group
  const auto session = fields.number();
  fields.skip_words(7);  // 7 to 13: terminal, flags, faults
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
  constexpr std::int64_t kMostPid = std::numeric_limits<pid_t>::max();
  if (!parent || *parent > kMostPid || !user || !system || !children_user || !children_system ||
      !threads || !start || !pages || *pages > (kMostNumber >> 16)) {  // pages of 64 KiB at most
    return std::nullopt;
  }
  stat.parent = static_cast<pid_t>(*parent);
  if (session && *session <= kMostPid) stat.session = static_cast<pid_t>(*session);
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

std::optional<std::int64_t> parse_status_vmhwm(std::string_view text) noexcept {
  return labelled_number(text, "VmHWM:", 1024);
}

std::string_view parse_status_cores(std::string_view text) noexcept {
  return labelled(text, "Cpus_allowed_list:");
}

}  // namespace probe
