// What ended processes leave to those who may have waited for them (account.hpp).

#include <optional>
#include <string_view>
#include <utility>

#include "probe/processes.hpp"

namespace probe {

void Processes::settle_ended(const Reading& reading) noexcept {
  if (!deaths_) return;
  find_new_parents(reading);
  for (const auto& process : list_) {
    if (process.ended) bequeath(process);
  }
  for (auto& process : list_) {
    if (process.bequest.count > 0) settle(process, reading);
    process.was_zombie = process.zombie();
  }
  remove_ended();
}

// A process that died, though nobody may have waited for it, has no children any more. Those that
// live are asked whose they are now; those that ended meanwhile are settled at once, while it is
// still known where they stood.
void Processes::find_new_parents(const Reading& reading) noexcept {
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

void Processes::bequeath(const Process& ended) noexcept {
  Process* heir = find(ended.parent());
  const bool parent_died = heir != nullptr && (heir->ended || heir->zombie());
  for (std::size_t step = 0; heir != nullptr && heir->ended; ++step) {
    heir = step < list_.size() ? find(heir->parent()) : nullptr;
  }
  if (heir == nullptr) {  // adopted outside of the tree
    carried_ += ended.waited();
    carried_ += ended.lost();
    if (ended.pid() != root_pid_) {
      say_lower_bound("a process ended that no process of the tree could wait for");
    }
    return;
  }
  heir->bequest.waited += ended.waited();
  heir->bequest.lost += ended.lost();
  ++heir->bequest.count;
  heir->bequest.doubtful |= parent_died;
}

void Processes::settle(Process& heir, const Reading& reading) noexcept {
  constexpr std::string_view kUnwaited = "a process ended whose parent didn't wait for it";
  const Process::Bequest bequest = std::exchange(heir.bequest, {});
  heir.cpu.lose(bequest.lost.cpu_ns);
  for (std::size_t i = 0; i < heir.io.size(); ++i) heir.io[i].lose(bequest.lost.io[i]);

  // Read after the children were gone: what it waited for is in these. They may also hold what is
  // still counted at another child's, so they say how much room there is, and are no values.
  const auto children_ns = heir.read_children_ns(reading);
  const auto io = heir.read_io(reading);
  const auto room_ns = children_ns ? std::optional(*children_ns + kChildrenSlackNs) : std::nullopt;

  if (bequest.doubtful) {
    // A parent died together with its child: was the child waited for by it, adopted by an ancestor
    // in the tree, or by somebody outside? In the first two cases its counters are, or will be at
    // the next tick, in what is read. Only if there is room nowhere, it is lost.
    const std::int64_t excess_ns = heir.cpu.without_room(bequest.waited.cpu_ns, room_ns);
    if (excess_ns == 0 || ancestor_has_room(heir, excess_ns, reading)) return;
    heir.cpu.lose(excess_ns);
    for (std::size_t i = 0; io && i < heir.io.size(); ++i) {
      heir.io[i].lose(heir.io[i].without_room(bequest.waited.io[i], (*io)[i]));
    }
    say_lower_bound(kUnwaited);
    return;
  }

  // SIGCHLD ignored when the first child was seen and now, and nothing came in: it waits for none.
  const bool unwaited = heir.ignores_children && children_ns &&
                        *children_ns == heir.children_ns_before() &&
                        heir.read_ignores_children(reading);
  if (unwaited) {
    heir.cpu.lose(bequest.waited.cpu_ns);
    for (std::size_t i = 0; i < heir.io.size(); ++i) heir.io[i].lose(bequest.waited.io[i]);
    say_lower_bound(kUnwaited);
    return;
  }
  std::int64_t excess = heir.cpu.inherit(bequest.waited.cpu_ns, room_ns);
  heir.cpu.lose(excess);
  for (std::size_t i = 0; i < heir.io.size(); ++i) {
    const auto room = io ? std::optional((*io)[i]) : std::nullopt;
    const std::int64_t excess_io = heir.io[i].inherit(bequest.waited.io[i], room);
    heir.io[i].lose(excess_io);
    excess += excess_io;
  }
  if (excess > 0) say_lower_bound(kUnwaited);
}

// An orphan goes to the nearest ancestor that is a subreaper (which /proc doesn't show).
bool Processes::ancestor_has_room(const Process& process, std::int64_t amount_ns,
                                  const Reading& reading) noexcept {
  Process* ancestor = find(process.parent());
  for (std::size_t step = 0; ancestor != nullptr && step < list_.size(); ++step) {
    const auto children_ns = ancestor->read_children_ns(reading);
    if (!children_ns ||
        *children_ns - ancestor->children_ns_before() + kChildrenSlackNs >= amount_ns) {
      return true;
    }
    ancestor = find(ancestor->parent());
  }
  return false;
}

void Processes::remove_ended() noexcept {
  const auto any = [](const Process& process) { return process.ended; };
  for (const auto& process : list_) {
    if (process.ended) places_.erase(process.pid());
  }
  if (std::erase_if(list_, any) == 0) return;
  ++generation_;
  for (std::size_t i = 0; i < list_.size(); ++i) places_.find(list_[i].pid())->second = i;
}

}  // namespace probe
