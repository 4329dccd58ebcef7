#include "store/reasons.hpp"

#include <fmt/format.h>

#include <limits>

namespace store {
namespace {

constexpr std::size_t kMostReasonBytes = 160;
constexpr std::size_t kMostNames = 64;
constexpr std::string_view kLowerBound = "lower bound: ";
constexpr std::int64_t kSecondNs = 1'000'000'000;

bool is_bound(const record::Missing& missing) noexcept {
  return missing.reason.starts_with(kLowerBound);
}

// Times of a damaged file may be any.
std::int64_t later(std::int64_t time_ns) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return time_ns > kMost - kSecondNs ? kMost : time_ns + kSecondNs;
}

bool covers(std::string_view name, std::string_view level, std::string_view metric) noexcept {
  if (!name.starts_with(level)) return false;
  name.remove_prefix(level.size());
  if (name.empty()) return true;
  if (name.front() != '.') return false;
  name.remove_prefix(1);
  while (name.ends_with('*') || name.ends_with('_')) name.remove_suffix(1);
  return metric.starts_with(name) && (metric.size() == name.size() || name.empty() ||
                                      metric[name.size()] == '_' || metric[name.size()] == '.');
}

std::string sentence(record::State state, std::string_view reason) {
  std::string text(record::state_word(state));
  text += ": ";
  text += reason.empty() ? "no reason was recorded" : reason.substr(0, kMostReasonBytes);
  return text;
}

}  // namespace

// "measured" alone takes back what was said of the same name.
bool Reasons::ends_a_bound(std::size_t place) const {
  const auto& all = recording_.missing();
  if (all[place].state != record::State::kMeasured) return false;
  for (std::size_t i = place; i-- > 0;) {
    if (all[i].name == all[place].name) return is_bound(all[i]);
  }
  return false;
}

bool Reasons::touches(std::size_t place) const {
  const auto& all = recording_.missing();
  const record::Missing& bound = all[place];
  if (bound.state == record::State::kMeasured && bound.time_ns == 0) return true;
  if (bound.time_ns > later(end_ns_)) return false;
  if (bound.state == record::State::kMeasured) return later(bound.time_ns) >= begin_ns_;
  for (std::size_t i = place + 1; i < all.size(); ++i) {
    if (all[i].name == bound.name && all[i].state == record::State::kMeasured) {
      return all[i].time_ns >= begin_ns_;
    }
  }
  return true;
}

std::vector<std::string> Reasons::missing_of(std::string_view level) const {
  std::vector<std::string> names;
  for (const record::Missing& missing : recording_.missing()) {
    const std::string_view name = missing.name;
    if (missing.time_ns > end_ns_ || missing.state == record::State::kMeasured ||
        !name.starts_with(level) || !name.substr(level.size()).starts_with('.')) {
      continue;
    }
    if (names.size() == kMostNames) break;
    names.emplace_back(name.substr(level.size() + 1, kMostReasonBytes));
  }
  return names;
}

std::optional<std::string> Reasons::recorded(std::string_view level,
                                             std::string_view metric) const {
  const auto& all = recording_.missing();
  const record::Missing* newest = nullptr;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].time_ns > end_ns_ || !covers(all[i].name, level, metric)) continue;
    if (!is_bound(all[i]) && !ends_a_bound(i)) newest = &all[i];
  }
  // "measured" takes an earlier record back.
  if (newest == nullptr || newest->state == record::State::kMeasured) return std::nullopt;
  return sentence(newest->state, newest->reason);
}

std::optional<std::string> Reasons::bound(std::string_view level, std::string_view metric) const {
  const auto& all = recording_.missing();
  for (std::size_t i = all.size(); i-- > 0;) {
    if (is_bound(all[i]) && covers(all[i].name, level, metric) && touches(i)) {
      return all[i].reason.substr(0, kMostReasonBytes);
    }
  }
  return std::nullopt;
}

std::string Reasons::why(std::string_view level, std::string_view metric,
                         record::Value seen) const {
  if (auto text = recorded(level, metric)) return *std::move(text);
  const record::State state = record::state_of(seen);
  if (state == record::State::kNotSupported && (level == "node" || level == "job") &&
      metric.starts_with("io_")) {
    return sentence(state, "the system counts all I/O by process only");
  }
  if (state == record::State::kNotSupported) return sentence(state, "it is not recorded here");
  if (state == record::State::kMeasured) {
    return sentence(record::State::kNotYet, "there is no sample at both edges of the cell");
  }
  return sentence(state, "no sample in this cell has it");
}

}  // namespace store
