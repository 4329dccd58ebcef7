#include "probe/missing.hpp"

#include <algorithm>
#include <exception>

#include "base/clock.hpp"

namespace probe {
namespace {

using record::Missing;
using record::State;

constexpr std::int64_t kSecondNs = 1'000'000'000;

}  // namespace

MissingList::MissingList() { list_.reserve(32); }

void MissingList::add(std::int64_t time_ns, std::string_view name, State state,
                      std::string_view reason) noexcept {
  try {
    list_.push_back({time_ns, std::string(name), state, std::string(reason)});
  } catch (const std::exception&) {
    return;  // no memory for it
  }
}

void MissingList::say(std::string_view name, State state, std::string_view reason) noexcept {
  const auto same = [&](const Missing& missing) { return missing.name == name; };
  if (std::ranges::any_of(list_, same)) return;
  const bool always = state == State::kMeasured && reason.starts_with(kLowerBound);
  add(always ? 0 : base::monotonic_ns(), name, state, reason);
}

void MissingList::say_again(std::string_view name, State state, std::string_view reason,
                            std::int64_t now_ns) noexcept {
  const bool bound = reason.starts_with(kLowerBound);
  std::size_t of_name = 0;
  for (const Missing& missing : list_) {
    if (missing.name != name) continue;
    ++of_name;
    if (bound && missing.state == State::kMeasured && missing.time_ns == 0) return;  // always
    const bool same = missing.state == state && missing.reason == reason;
    if (same && now_ns - missing.time_ns < kSecondNs) return;
  }
  if (list_.size() < kMost && of_name < kMostOfOne) {
    add(now_ns, name, state, reason);
  } else if (bound) {
    add(0, name, State::kMeasured, reason);
  }
}

LowerBoundNote::LowerBoundNote(MissingList& missing, std::initializer_list<std::string_view> names,
                               State why, std::string_view reason)
    : missing_(&missing),
      names_(names.begin(), names.end()),
      why_(why),
      reason_(std::string(kLowerBound).append(reason)) {}

void LowerBoundNote::set(bool holds, std::int64_t now_ns) noexcept {
  if (holds) held_ns_ = now_ns;
  if (holds && !said_) {
    for (const std::string& name : names_) missing_->say_again(name, why_, reason_, now_ns);
    said_ = true;
  } else if (!holds && said_ && now_ns - held_ns_ >= kSecondNs) {
    for (const std::string& name : names_) {
      missing_->say_again(name, State::kMeasured, {}, now_ns);
    }
    said_ = false;
  }
}

}  // namespace probe
