#pragma once
// What ended processes leave to the sums of a tree: nothing counted twice, nothing seen forgotten.
//
// The kernel adds a child's counters to its parent's when the parent waits for it, and throws them
// away when the parent never will (it ignores SIGCHLD or has set SA_NOCLDWAIT). An orphan's go to
// whoever adopts it. From outside only two things are seen: the child is gone, and the parent's
// counter shows so much. So each process has two lower bounds for each counter:
//   waited  what the counter holds of waited-for children: at least what it shows, and at least
//           what was last seen of those it can have waited for, as far as there is room in it;
//   lost    what was last seen of ended children and provably isn't in any counter of the tree.
// A process counts as its own + waited + lost. That never exceeds what was used, and when children
// end it stays or grows: what goes with them comes back in `waited` or `lost`. What a lost child
// used after it was last seen is unknown: a lower bound, which the caller says.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "probe/process_io.hpp"
#include "probe/process_stat.hpp"
#include "probe/scan.hpp"

namespace probe {

// One counter of one process. All amounts >= 0.
struct Inherited {
  std::int64_t waited = 0;
  std::int64_t lost = 0;
  std::int64_t before = 0;  // `waited` at the tick before

  void begin_tick() noexcept { before = waited; }

  // The counter shows `value`, read before the counters of its children.
  void see(std::int64_t value) noexcept { waited = std::max(waited, value); }

  // Children have ended whose last seen counters add up to `amount`; `room` is the most that the
  // counter can hold, read after they were gone (nullopt: it can't be read). What see() saw may or
  // may not hold them, so they are added to what was there before. Returns the part for which
  // there is no room: the caller loses it, or knows who else holds it.
  std::int64_t inherit(std::int64_t amount, std::optional<std::int64_t> room) noexcept {
    const std::int64_t excess = without_room(amount, room);
    waited = std::max(waited, before + amount - excess);
    return excess;
  }

  [[nodiscard]] std::int64_t without_room(std::int64_t amount,
                                          std::optional<std::int64_t> room) const noexcept {
    return room ? std::clamp<std::int64_t>(before + amount - *room, 0, amount) : 0;
  }

  void lose(std::int64_t amount) noexcept {
    lost = std::min(lost + amount, kMostNumber);  // only a hostile tree gets there
  }
};

// The children's CPU time in /proc/PID/stat is two numbers, each cut to whole ticks.
inline constexpr std::int64_t kChildrenSlackNs = 2 * kTickNs;

// Everything that is counted of a process or a tree.
struct Amounts {
  std::int64_t cpu_ns = 0;
  IoCounts io{};
  FaultCounts faults{};

  Amounts& operator+=(const Amounts& other) noexcept {
    combine(other, [](std::int64_t a, std::int64_t b) {
      return std::min(a + b, kMostNumber);  // a hostile tree must not overflow
    });
    return *this;
  }

  // Each amount the larger of the two.
  void raise_to(const Amounts& other) noexcept {
    combine(other, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  }

  // What is missing in each to the larger of the two.
  [[nodiscard]] Amounts shortfall(const Amounts& other) const noexcept {
    Amounts result = *this;
    result.combine(other,
                   [](std::int64_t a, std::int64_t b) { return std::max<std::int64_t>(b - a, 0); });
    return result;
  }

  bool operator==(const Amounts&) const noexcept = default;

 private:
  template <typename Combine>
  void combine(const Amounts& other, Combine two) noexcept {
    cpu_ns = two(cpu_ns, other.cpu_ns);
    for (std::size_t i = 0; i < io.size(); ++i) io[i] = two(io[i], other.io[i]);
    for (std::size_t i = 0; i < faults.size(); ++i) faults[i] = two(faults[i], other.faults[i]);
  }
};

}  // namespace probe
