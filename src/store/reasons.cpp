#include "store/reasons.hpp"

#include <fmt/format.h>

namespace store {
namespace {

constexpr std::size_t kMostReasonBytes = 160;

bool covers(std::string_view name, std::string_view level, std::string_view metric) noexcept {
  if (!name.starts_with(level)) return false;
  name.remove_prefix(level.size());
  if (name.empty()) return true;
  if (name.front() != '.') return false;
  name.remove_prefix(1);
  while (name.ends_with('*') || name.ends_with('_')) name.remove_suffix(1);
  return metric.starts_with(name) &&
         (metric.size() == name.size() || name.empty() || metric[name.size()] == '_');
}

std::string sentence(record::State state, std::string_view reason) {
  std::string text(record::state_word(state));
  text += ": ";
  text += reason.empty() ? "no reason was recorded" : reason.substr(0, kMostReasonBytes);
  return text;
}

}  // namespace

const record::Missing* Reasons::newest(std::string_view level, std::string_view metric) const {
  const record::Missing* found = nullptr;
  for (const record::Missing& missing : recording_.missing()) {
    if (missing.time_ns <= time_ns_ && covers(missing.name, level, metric)) found = &missing;
  }
  return found;
}

std::optional<std::string> Reasons::recorded(std::string_view level,
                                             std::string_view metric) const {
  const record::Missing* missing = newest(level, metric);
  // "measured" takes an earlier record back.
  if (missing == nullptr || missing->state == record::State::kMeasured) return std::nullopt;
  return sentence(missing->state, missing->reason);
}

std::optional<std::string> Reasons::bound(std::string_view level, std::string_view metric) const {
  const record::Missing* missing = newest(level, metric);
  if (missing == nullptr || missing->state != record::State::kMeasured ||
      !missing->reason.starts_with("lower bound: ")) {
    return std::nullopt;
  }
  return missing->reason.substr(0, kMostReasonBytes);
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
