#pragma once
// A tree of processes: who belongs to it, and the sums over it. All of it in the sampler's thread.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/consumers.hpp"
#include "probe/family.hpp"
#include "probe/listing.hpp"
#include "probe/missing.hpp"
#include "probe/process.hpp"
#include "probe/process_files.hpp"

namespace probe {

// The root process, the children of every thread of it, their children and so on. Once in it, a
// process stays until it has ended, whoever its parent is by then (a killed middle process,
// double forks, subreapers); identity = pid + start time. Orphans whose parent no look has seen are
// found where the root leads a session (as Jupyter starts kernels), while they stay in it.
//
// Not in it is what was started so that it is nobody's child (base::start_hidden), though a look
// may meet it while that is being done. What is counted of ended ones: account.hpp. Not seen at all
// is a process that was adopted by somebody outside the tree, or never waited for, and ended
// between two looks.
class Processes {
 public:
  // `root_pid` <= 0: no tree, only the node's listing. Throws base::Error when the root isn't
  // there. `excluded_pid` and its children never belong to it.
  Processes(const std::string& root, pid_t root_pid, pid_t excluded_pid, MissingList& missing);
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // Reads every process again, settles what ended ones leave, looks for new ones: when
  // `forks` (of /proc/stat) has moved, and all of /proc once a second; with `list_all` also when
  // `forks` has moved since it was listed. `buffer`: 16 KiB or more. Allocates only when there
  // are new processes.
  void tick(std::optional<std::int64_t> forks, std::int64_t now_ns, std::span<char> buffer,
            bool list_all = false) noexcept;

  // The process with this number and start, and all that descends from it, isn't of the tree from
  // now on: not in the list, and what it uses isn't in the sums, also not once somebody has waited
  // for it. `apart` = false takes it in again, with what it uses from now on. Reads all, as tick().
  // One that isn't there yet is apart when it is found.
  void set_apart(pid_t pid, std::int64_t start_ticks, bool apart, std::int64_t now_ns,
                 std::span<char> buffer) noexcept;

  // The sums, ended ones included; never falling.
  [[nodiscard]] const Amounts& total() const noexcept { return total_; }
  // The root's own and what it waited for, as its own counters have it, so with what those had used
  // that were apart; stays when it has ended.
  [[nodiscard]] const Amounts& root_total() const noexcept { return root_total_; }
  // kRead when the I/O of one process at least was read; else why not.
  [[nodiscard]] Process::Io io_state() const noexcept { return io_state_; }
  [[nodiscard]] Process::Io root_io_state() const noexcept { return root_io_state_; }

  // After a lost sampler: the sums go on from these, which it had counted.
  void continue_from(const Amounts& total, const Amounts& root_total) noexcept;

  // Who used it since the last call, see Consumers::take(). At an edge, after tick().
  record::Consumers take_consumers(std::int64_t now_ns) noexcept;

  // Parents before their children. Zombies are in it.
  [[nodiscard]] std::span<Process> list() noexcept { return family_.counted(); }
  [[nodiscard]] std::span<const Process> list() const noexcept { return family_.counted(); }
  [[nodiscard]] Process* find(pid_t pid) noexcept;
  // Moves when a process came or went.
  [[nodiscard]] std::uint64_t generation() const noexcept { return family_.generation(); }
  // Of the whole node, as last listed; see Listing::processes.
  [[nodiscard]] const Listing& listing() const noexcept { return listing_; }
  [[nodiscard]] std::int64_t root_start_ticks() const noexcept { return root_start_ticks_; }

 private:
  void read_again(const Reading& reading) noexcept;
  [[nodiscard]] bool is_apart(const Process& process) const noexcept;
  void look(std::optional<std::int64_t> forks, const Reading& reading, bool list_all);
  bool look_at_children(const Reading& reading);
  void look_at_listing(const Reading& reading);
  void adopt(pid_t pid, const Reading& reading);
  // A session's members all descend from its leader, whoever their parents are by now.
  [[nodiscard]] bool is_of_root(pid_t session) const noexcept {
    return root_leads_session_ && session == root_pid_;
  }
  void note_hidden(pid_t pid);
  void look_at_hidden(std::int64_t now_ns) noexcept;
  void add_up(std::int64_t now_ns) noexcept;
  void say_io_unread(bool refused) noexcept;
  Process* root() noexcept;

  ProcDirectory proc_;
  pid_t root_pid_;
  pid_t excluded_pid_;
  MissingList* missing_;
  Listing listing_;
  Family family_;
  Consumers consumers_;
  std::vector<pid_t> found_;   // of one children file
  std::vector<pid_t> hidden_;  // of the tree, but they can't be read
  LowerBoundNote hidden_note_;
  LowerBoundNote io_note_;
  struct Named {
    pid_t pid;
    std::int64_t start_ticks;
  };
  std::vector<Named> apart_;  // while they may be found
  bool ticked_ = false;
  Amounts total_;
  Amounts root_total_;
  bool said_io_unread_ = false;
  Process::Io io_state_ = Process::Io::kNotYet;
  Process::Io root_io_state_ = Process::Io::kNotYet;
  std::int64_t root_start_ticks_ = 0;
  bool root_leads_session_ = false;
  std::int64_t listed_ns_ = 0;
  std::optional<std::int64_t> forks_;
  std::optional<std::int64_t> listed_forks_;  // when /proc was listed last
  int adopted_ = 0;                           // in this look
  bool unfinished_ = false;                   // it found more than it may adopt at once
};

}  // namespace probe
