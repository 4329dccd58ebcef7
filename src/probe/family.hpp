#pragma once
// Processes that are counted together (a tree, all of a user), and what ended ones of them leave.

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "probe/account.hpp"
#include "probe/process.hpp"

namespace probe {

// Who belongs to it is the owner's to say; once in it, a process stays until it has ended. At each
// look: read_all(), settle_ended(), remove_ended(), then what is new is added. What is counted of
// ended ones: account.hpp.
//
// Some may be set apart, with all that descends from them: they are read as the others are, but the
// sums gain nothing of them, neither now nor when somebody inherits it. What such a one uses after
// it was last read and before it is waited for (the end itself, a few ms) is counted at its heir.
class Family {
 public:
  // `head`: the one that all descend from; that nobody in here inherits from it is no loss.
  // 0: there is none.
  explicit Family(pid_t head) noexcept : head_(head) {}

  // Parents before their children. Zombies are in it, and between read_all() and remove_ended()
  // those that have ended.
  [[nodiscard]] std::span<Process> list() noexcept { return list_; }
  [[nodiscard]] std::span<const Process> list() const noexcept { return list_; }
  // Those that aren't apart: the first ones of the list.
  [[nodiscard]] std::span<Process> counted() noexcept { return list().first(counted_); }
  [[nodiscard]] std::span<const Process> counted() const noexcept { return list().first(counted_); }
  [[nodiscard]] Process* find(pid_t pid) noexcept;
  [[nodiscard]] bool contains(pid_t pid) const noexcept { return places_.contains(pid); }
  // Moves when a process came or went.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }

  // Not one with a number that is in it. A child of one that is apart is so, too. Throws
  // std::bad_alloc, then nothing has changed.
  void add(Process&& process, const Reading& reading);
  // The process and all that descends from it leave the sums, or join them with what they use from
  // now on. `are_new`: the sums were told to nobody so far. Right after read_all(), settle_ended(),
  // remove_ended().
  void set_apart(const Process& process, bool apart, bool are_new) noexcept;

  void read_all(const Reading& reading) noexcept;
  void settle_ended(const Reading& reading) noexcept;
  void remove_ended() noexcept;
  // Why the sums lack something of those that settle_ended() settled ("lower bound: …"); empty:
  // they don't.
  [[nodiscard]] std::string_view loss() const noexcept { return loss_; }

  // Counts as if processes had ended that had used so much.
  void carry(const Amounts& amounts) noexcept { carried_ += amounts; }

  struct Sum {
    Amounts amounts;  // ended ones included
    // Of the I/O of those that live: of one at least it was read, is refused, isn't counted here.
    bool io_read = false;
    bool io_refused = false;
    bool io_absent = false;
  };
  [[nodiscard]] Sum sum() const noexcept;

 private:
  [[nodiscard]] bool descends(const Process& process, pid_t ancestor) const noexcept;
  void part() noexcept;
  void renumber() noexcept;
  void find_new_parents(const Reading& reading) noexcept;
  [[nodiscard]] bool parent_is_gone(const Process& process, const Reading& reading) const noexcept;
  void bequeath(const Process& ended, const Reading& reading) noexcept;
  void settle(Process& heir, const Reading& reading) noexcept;
  bool ancestor_has_room(const Process& process, std::int64_t amount_ns,
                         const Reading& reading) noexcept;

  pid_t head_;
  std::vector<Process> list_;
  std::size_t counted_ = 0;                        // of them the first
  std::unordered_map<pid_t, std::size_t> places_;  // in list_
  Amounts carried_;                                // of ended ones without an heir
  std::string_view loss_;
  bool deaths_ = false;  // since the look before
  std::uint64_t generation_ = 0;
};

}  // namespace probe
