#include "probe/oom.hpp"

#include <algorithm>
#include <array>
#include <exception>

#include "probe/cgroup_memory.hpp"
#include "probe/oom_text.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;
using record::Value;

// What systemd-oomd writes to the group that it kills; older ones only the last, after the kill.
constexpr std::array kMarks{"user.oomd_ooms", "user.oomd_kill"};

bool is_most_of(Value part, Value whole) noexcept {
  constexpr Value kPercent = 90;
  return part >= 0 && whole > 0 && part >= whole / 100 * kPercent;
}

bool rises(Value before, Value now) noexcept {
  return record::is_known(now) && record::is_known(before) && now > before;
}

}  // namespace

bool OomWatch::Ceiling::was_hit() const noexcept { return rises(hits_before, hits_now); }

bool OomWatch::Ceiling::was_near() const noexcept { return is_most_of(highest_bytes, limit_bytes); }

bool OomWatch::somebody_was_killed() const noexcept {
  if (marks_now_ > marks_before_) return true;
  for (const Count& kills : kills_) {
    if (record::is_known(kills.now)) return rises(kills.before, kills.now);
  }
  return false;
}

void OomWatch::look(const Cgroups& cgroups, bool full, const NodeMemory& node,
                    std::span<char> buffer) noexcept {
  if (pid_ <= 0 || doomed_) return;
  node_ = node;
  node_highest_bytes_ = std::max(node_highest_bytes_, node.used_bytes);
  if (!full && !unsettled_) return;
  if (cgroups.moves() != move_) {
    try {
      open(cgroups);
    } catch (const std::exception&) {
      move_ = cgroups.moves() - 1;  // no memory: again at the next look
    }
    return;
  }
  read(buffer);
  if (somebody_was_killed()) {
    // The count rises a moment before the signal is sent, and a large process needs time to end.
    doomed_ = root_is_dying(buffer);
    unsettled_ = !doomed_ && !unsettled_;
    if (doomed_ || unsettled_) return;
  }
  settle();
}

void OomWatch::settle() noexcept {
  unsettled_ = false;
  marks_before_ = marks_now_;
  for (Count& kills : kills_) kills.before = kills.now;
  for (Ceiling& ceiling : ceilings_) ceiling.hits_before = ceiling.hits_now;
}

bool OomWatch::root_is_dying(std::span<char> buffer) const noexcept {
  return status_.valid() && is_dying(base::read_text(status_.fd(), buffer));
}

void OomWatch::read(std::span<char> buffer) noexcept {
  for (Count& kills : kills_) {
    kills.now = parse_oom_events(read_control(kills.file, buffer)).kills;
  }
  marks_now_ = marks();
  for (Ceiling& ceiling : ceilings_) read_ceiling(ceiling, buffer);
}

Value OomWatch::marks() const noexcept {
  Value sum = 0;
  for (const base::File& directory : directories_) {
    for (const char* name : kMarks) {
      std::array<char, 24> digits;
      const ssize_t size = read_mark_(directory.fd(), name, digits.data(), digits.size());
      if (size > 0) sum += parse_oomd_mark({digits.data(), static_cast<std::size_t>(size)});
    }
  }
  return sum;
}

void OomWatch::read_ceiling(Ceiling& ceiling, std::span<char> buffer) const noexcept {
  ceiling.limit_bytes = parse_limit(read_control(ceiling.limit, buffer))
                            .value_or(ceiling.limit_bytes);  // the group is gone: as it was
  const std::string_view text = read_control(ceiling.hits, buffer);
  const Value hits = ceiling.unified
                         ? parse_oom_events(text).ooms
                         : Scanner(text).number().value_or(unknown(State::kNotSupported));
  if (record::is_known(hits)) ceiling.hits_now = hits;
  if (!ceiling.there() && &ceiling != ceilings_.data()) return;
  const Value usage = Scanner(read_control(ceiling.usage, buffer)).number().value_or(-1);
  ceiling.highest_bytes = std::max(ceiling.highest_bytes, usage);
}

// The group's own count of its peak may be from before this life: it is believed when it has risen.
Value OomWatch::Ceiling::peak_now(std::span<char> buffer) const noexcept {
  const Value bytes = Scanner(read_control(peak, buffer)).number().value_or(-1);
  return rises(first_peak_bytes, bytes) ? bytes : highest_bytes;
}

// The nearest limit that was hit, else the one that was nearest to it.
const OomWatch::Ceiling* OomWatch::guilty() const noexcept {
  const Ceiling* near = nullptr;
  for (const Ceiling& ceiling : ceilings_) {
    if (!ceiling.there()) continue;
    if (ceiling.was_hit()) return &ceiling;
    if (near == nullptr && ceiling.was_near()) near = &ceiling;
  }
  return near;
}

bool OomWatch::machine_is_guilty() const noexcept {
  if (!all_visible_) return is_most_of(node_.used_bytes, node_.total_bytes);
  return std::ranges::all_of(ceilings_, [](const Ceiling& ceiling) {
    return !ceiling.there() || record::is_known(ceiling.hits_now);
  });
}

void OomWatch::tell_limit(const Ceiling* ceiling, record::End& end, std::span<char> buffer) const {
  if (ceiling == nullptr) {
    for (const Ceiling& one : ceilings_) {
      if (!one.there()) continue;
      if (ceiling == nullptr || one.limit_bytes < ceiling->limit_bytes) ceiling = &one;
    }
    const bool hidden = ceiling == nullptr || hidden_limit_bytes_ < ceiling->limit_bytes;
    if (hidden) {
      if (hidden_limit_bytes_ != kNoLimit) end.memory_limit_bytes = hidden_limit_bytes_;
      if (!ceilings_.empty()) end.memory_peak_bytes = ceilings_.front().peak_now(buffer);
      end.text = "that of a control group that can't be seen from here";
      return;
    }
  }
  end.memory_limit_bytes = ceiling->limit_bytes;
  end.memory_peak_bytes = ceiling->peak_now(buffer);
  end.text = limit_owner(ceiling->group, ceiling->own);
}

std::optional<record::End> OomWatch::end(std::span<char> buffer) {
  if (pid_ <= 0) return std::nullopt;
  read(buffer);
  if (!doomed_ && !somebody_was_killed()) return std::nullopt;
  record::End end;
  end.cause = record::EndCause::kOutOfMemory;
  record::OomKiller killer = record::OomKiller::kLimit;
  const Ceiling* ceiling = guilty();
  if (marks_now_ > marks_before_) {
    killer = record::OomKiller::kDaemon;
    end.text = "systemd-oomd";
    if (!ceilings_.empty()) end.memory_peak_bytes = ceilings_.front().peak_now(buffer);
  } else if (ceiling == nullptr && machine_is_guilty()) {
    killer = record::OomKiller::kMachine;
    end.memory_peak_bytes = node_highest_bytes_;
    end.memory_limit_bytes = node_.total_bytes;
  } else {
    tell_limit(ceiling, end, buffer);
  }
  end.detail = static_cast<std::int64_t>(killer);
  return end;
}

}  // namespace probe
