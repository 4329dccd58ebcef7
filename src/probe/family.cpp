#include "probe/family.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

namespace probe {
namespace {

constexpr std::string_view kUnwaited =
    "lower bound: a process ended whose parent didn't wait for it";
constexpr std::string_view kNobody =
    "lower bound: a process ended that none of those counted could wait for";

// What the counters of one process can hold of its children at most, read after those were gone.
// They may also hold what is still counted at another child's, so they are no values.
struct Room {
  bool stat_read = false;
  bool io_read = false;
  Amounts most;
};

Room read_room(Process& process, const Reading& reading) noexcept {
  Room room;
  if (const auto stat = process.read_stat(reading)) {
    room.stat_read = true;
    room.most.cpu_ns = stat->children_ns + kChildrenSlackNs;
    room.most.faults = stat->children_faults;
  }
  if (const auto io = process.read_io(reading)) {
    room.io_read = true;
    room.most.io = *io;
  }
  return room;
}

// visit(counter, amount, room or nullopt) for every counter of the heir.
template <typename Visit>
void for_each_counter(Process& heir, const Amounts& amounts, const Room& room, Visit visit) {
  const auto most = [](bool read, std::int64_t value) {
    return read ? std::optional(value) : std::nullopt;
  };
  visit(heir.cpu, amounts.cpu_ns, most(room.stat_read, room.most.cpu_ns));
  for (std::size_t i = 0; i < heir.faults.size(); ++i) {
    visit(heir.faults[i], amounts.faults[i], most(room.stat_read, room.most.faults[i]));
  }
  for (std::size_t i = 0; i < heir.io.size(); ++i) {
    visit(heir.io[i], amounts.io[i], most(room.io_read, room.most.io[i]));
  }
}

void lose(Process& heir, const Amounts& amounts) noexcept {
  for_each_counter(heir, amounts, Room{},
                   [](Inherited& counter, std::int64_t amount, std::optional<std::int64_t>) {
                     counter.lose(amount);
                   });
}

}  // namespace

Process* Family::find(pid_t pid) noexcept {
  const auto place = places_.find(pid);
  return place == places_.end() ? nullptr : &list_[place->second];
}

void Family::add(Process&& process, const Reading& reading) {
  Process* parent = find(process.parent());
  if (parent != nullptr && !parent->has_children) {
    parent->has_children = true;
    parent->ignores_children = parent->read_ignores_children(reading);
  }
  if (parent != nullptr && parent->apart()) process.leave_sums(true);
  if (list_.size() == list_.capacity()) list_.reserve(2 * list_.size() + 16);
  places_.emplace(process.pid(), list_.size());
  list_.push_back(std::move(process));  // can't fail any more
  part();
  ++generation_;
}

bool Family::descends(const Process& process, pid_t ancestor) const noexcept {
  const Process* one = &process;
  for (std::size_t step = 0; one != nullptr && step < list_.size(); ++step) {
    if (one->pid() == ancestor) return true;
    const auto place = places_.find(one->parent());
    one = place == places_.end() ? nullptr : &list_[place->second];
  }
  return false;
}

void Family::set_apart(const Process& process, bool apart, bool are_new) noexcept {
  const pid_t pid = process.pid();
  for (auto& one : list_) {
    if (one.apart() == apart || !descends(one, pid)) continue;
    apart ? one.leave_sums(are_new) : one.join_sums();
    ++generation_;
  }
  part();
}

// Those that are apart stand behind the others, both in the order in which they were.
void Family::part() noexcept {
  const auto is_counted = [](const Process& process) { return !process.apart(); };
  if (counted_ + 1 == list_.size() && is_counted(list_.back())) {
    ++counted_;  // as a rule: one was added, and none is apart
    return;
  }
  const auto end = std::stable_partition(list_.begin(), list_.end(), is_counted);
  counted_ = static_cast<std::size_t>(end - list_.begin());
  renumber();
}

void Family::renumber() noexcept {
  for (std::size_t i = 0; i < list_.size(); ++i) places_.find(list_[i].pid())->second = i;
}

// Parents before children: a child that is waited for in between is then missed in its parent
// (and counted at the next tick) and not counted twice.
void Family::read_all(const Reading& reading) noexcept {
  deaths_ = false;
  for (auto& process : list_) {
    process.ended = !process.read(reading);
    deaths_ |= process.ended || process.zombie() != process.was_zombie;
  }
}

void Family::settle_ended(const Reading& reading) noexcept {
  loss_ = {};
  if (!deaths_) return;
  find_new_parents(reading);
  for (const auto& process : list_) {
    if (process.ended) bequeath(process, reading);
  }
  for (auto& process : list_) {
    if (process.bequest.count > 0) settle(process, reading);
    process.was_zombie = process.zombie();
  }
}

// A process that died, though nobody may have waited for it, has no children any more. Those that
// live are asked whose they are now; those that ended meanwhile are settled at once, while it is
// still known where they stood.
void Family::find_new_parents(const Reading& reading) noexcept {
  for (bool again = true; again;) {
    again = false;
    for (auto& process : list_) {
      if (process.ended) continue;
      const Process* parent = find(process.parent());
      if (parent == nullptr || !(parent->ended || parent->zombie())) continue;
      if (process.update_parent(reading)) continue;
      process.ended = true;
      again = true;
    }
  }
}

// The process that it shows as its parent, not of the family, has ended itself; or it shows none,
// as those do that are being taken away (parent_of() in process.cpp).
bool Family::parent_is_gone(const Process& process, const Reading& reading) const noexcept {
  if (process.parent() <= 0) return true;
  return reading.proc->has_our_numbers() && ::kill(process.parent(), 0) != 0 && errno == ESRCH;
}

void Family::bequeath(const Process& ended, const Reading& reading) noexcept {
  Process* heir = find(ended.parent());
  bool parent_died = heir != nullptr && (heir->ended || heir->zombie());
  if (heir == nullptr && ended.pid() != head_ && parent_is_gone(ended, reading)) {
    heir = find(head_);  // it descends from it, and may have been waited for by anyone between
    parent_died = true;
  }
  for (std::size_t step = 0; heir != nullptr && heir->ended; ++step) {
    heir = step < list_.size() ? find(heir->parent()) : nullptr;
  }
  if (heir == nullptr) {  // adopted outside
    carried_ += ended.counted();
    if (ended.pid() != head_) loss_ = kNobody;
    return;
  }
  heir->bequest.waited += ended.waited();
  heir->bequest.lost += ended.lost();
  heir->bequest.uncounted += ended.uncounted();
  ++heir->bequest.count;
  heir->bequest.doubtful |= parent_died;
}

void Family::settle(Process& heir, const Reading& reading) noexcept {
  const Process::Bequest bequest = std::exchange(heir.bequest, {});
  lose(heir, bequest.lost);
  heir.inherit_uncounted(bequest.uncounted);
  const Room room = read_room(heir, reading);

  if (bequest.doubtful) {
    // A parent died together with its child: was the child waited for by it, adopted by an ancestor
    // in the family, or by somebody outside? In the first two cases its counters are, or will be at
    // the next tick, in what is read. Only if there is room nowhere, it is lost.
    const std::int64_t excess_ns = heir.cpu.without_room(
        bequest.waited.cpu_ns, room.stat_read ? std::optional(room.most.cpu_ns) : std::nullopt);
    if (excess_ns == 0 || ancestor_has_room(heir, excess_ns, reading)) return;
    for_each_counter(heir, bequest.waited, room, [](Inherited& counter, auto amount, auto most) {
      counter.lose(counter.without_room(amount, most));
    });
    loss_ = kUnwaited;
    return;
  }

  // SIGCHLD ignored when the first child was seen and now, and nothing came in: it waits for none.
  const bool unwaited = heir.ignores_children && room.stat_read &&
                        room.most.cpu_ns - kChildrenSlackNs == heir.children_ns_before() &&
                        heir.read_ignores_children(reading);
  if (unwaited) {
    lose(heir, bequest.waited);
    loss_ = kUnwaited;
    return;
  }
  for_each_counter(heir, bequest.waited, room, [&](Inherited& counter, auto amount, auto most) {
    const std::int64_t excess = counter.inherit(amount, most);
    counter.lose(excess);
    if (excess > 0) loss_ = kUnwaited;
  });
}

// An orphan goes to the nearest ancestor that is a subreaper (which /proc doesn't show).
bool Family::ancestor_has_room(const Process& process, std::int64_t amount_ns,
                               const Reading& reading) noexcept {
  Process* ancestor = find(process.parent());
  for (std::size_t step = 0; ancestor != nullptr && step < list_.size(); ++step) {
    const auto stat = ancestor->read_stat(reading);
    if (!stat ||
        stat->children_ns - ancestor->children_ns_before() + kChildrenSlackNs >= amount_ns) {
      return true;
    }
    ancestor = find(ancestor->parent());
  }
  return false;
}

void Family::remove_ended() noexcept {
  const auto any = [](const Process& process) { return process.ended; };
  if (!deaths_) return;
  for (const auto& process : list_) {
    if (process.ended) places_.erase(process.pid());
  }
  if (std::erase_if(list_, any) == 0) return;
  ++generation_;
  counted_ = static_cast<std::size_t>(
      std::ranges::count_if(list_, [](const Process& process) { return !process.apart(); }));
  renumber();
}

Family::Sum Family::sum() const noexcept {
  Sum sum;
  sum.amounts = carried_;
  for (const auto& process : list_) {
    sum.amounts += process.counted();
    if (process.apart()) continue;
    sum.io_read |= process.io_state() == Process::Io::kRead;
    sum.io_refused |= process.io_state() == Process::Io::kRefused;
    sum.io_absent |= process.io_state() == Process::Io::kAbsent;
  }
  return sum;
}

}  // namespace probe
