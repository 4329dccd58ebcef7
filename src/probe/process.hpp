#pragma once
// One process of a family: its kept files, what was last read of it, what it inherited.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "probe/account.hpp"
#include "probe/children.hpp"
#include "probe/process_files.hpp"
#include "probe/process_stat.hpp"

namespace probe {

// How processes are read; the same for all of a family.
struct Reading {
  const ProcDirectory* proc = nullptr;
  std::span<char> buffer;   // one text at a time
  bool use_clocks = false;  // this machine's own /proc: CPU clocks go by its numbers
  std::int64_t now_ns = 0;
  // One that hasn't run is read again after so long, spread over as long again by its number.
  std::int64_t recheck_ns = 1'000'000'000;
  std::int64_t recheck_spread_ns = 0;
};

class Process {
 public:
  enum class Io : std::uint8_t { kNotYet, kRead, kRefused, kAbsent };

  // The process with this number, read once. nullopt when it is gone or can't be read.
  static std::optional<Process> open(pid_t pid, const Reading& reading);

  // Reads it again: CPU clock, stat, io; 9 us, or 0.4 us when its CPU clock stands still, for then
  // it hasn't run and nothing of it has changed but what others do to it: pages taken away (seen
  // after Reading::recheck_ns) and its parent's end (update_parent). False when it has ended and
  // was reaped; then everything stays as last seen.
  bool read(const Reading& reading) noexcept;
  // Asks for its parent only. False as above.
  bool update_parent(const Reading& reading) noexcept;

  // As the kernel shows it now, for judging; changes nothing.
  [[nodiscard]] std::optional<ProcessStat> read_stat(const Reading& reading) noexcept;
  [[nodiscard]] std::optional<IoCounts> read_io(const Reading& reading) noexcept;
  // True when it ignores SIGCHLD, so that the kernel reaps its children itself and counts them
  // nowhere. (SA_NOCLDWAIT does the same and can't be seen.)
  [[nodiscard]] bool read_ignores_children(const Reading& reading) const noexcept;

  // Its own and what it waited for: what the kernel's own counters of it hold.
  [[nodiscard]] Amounts waited() const noexcept;
  // What its children used and nobody waited for. Both never fall.
  [[nodiscard]] Amounts lost() const noexcept;

  // What the sums have of it: waited and lost, less what was used apart (by it, or by those that it
  // inherits from); nothing more of one that is apart. Never falls.
  [[nodiscard]] Amounts counted() const noexcept;
  // What the sums don't have of it.
  [[nodiscard]] Amounts uncounted() const noexcept;
  [[nodiscard]] bool apart() const noexcept { return apart_; }
  // From now on the sums have no more of it than now; nothing where it `is_new` to them.
  void leave_sums(bool is_new) noexcept;
  // From now on what it uses is counted again.
  void join_sums() noexcept;
  void inherit_uncounted(const Amounts& amounts) noexcept { uncounted_ += amounts; }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] std::string_view name() const noexcept { return stat_.name.text(); }
  [[nodiscard]] std::int64_t start_ticks() const noexcept { return start_ticks_; }
  [[nodiscard]] std::int64_t own_ns() const noexcept { return own_ns_; }
  [[nodiscard]] pid_t parent() const noexcept { return stat_.parent; }
  [[nodiscard]] pid_t session() const noexcept { return stat_.session; }
  [[nodiscard]] bool zombie() const noexcept { return stat_.zombie(); }
  [[nodiscard]] bool kernel_thread() const noexcept { return stat_.kernel_thread; }
  [[nodiscard]] bool silent() const noexcept { return stat_.silent; }
  [[nodiscard]] std::int64_t threads() const noexcept { return zombie() ? 0 : stat_.threads; }
  // Of one that has ended: when last seen alive, 0 if it never was.
  [[nodiscard]] std::int64_t resident_bytes() const noexcept;
  // The same less what it was found to share.
  [[nodiscard]] std::int64_t memory_bytes() const noexcept;
  [[nodiscard]] Io io_state() const noexcept { return io_state_; }

  // Children's CPU time as last shown, and at the tick before.
  [[nodiscard]] std::int64_t children_ns() const noexcept { return stat_.children_ns; }
  [[nodiscard]] std::int64_t children_ns_before() const noexcept { return children_ns_before_; }

  // Ended children's part of its counters (of I/O: its own too, /proc/PID/io is one number).
  Inherited cpu;
  std::array<Inherited, kIoFields> io;
  std::array<Inherited, kFaultFields> faults;

  // Kept here for the family that owns it.
  struct Bequest {  // of children that have ended, to be settled
    Amounts waited;
    Amounts lost;
    Amounts uncounted;  // of both
    int count = 0;
    bool doubtful = false;  // of one at least it isn't sure that this process could wait for it
  };
  Bequest bequest;
  ChildrenFiles children;
  bool has_children = false;  // one was seen, and then `ignores_children` was asked
  bool ignores_children = false;
  bool ended = false;
  bool was_zombie = false;
  std::int64_t sharing_bytes = 0;  // resident less proportional size, when that was measured
  bool measured = false;
  std::int64_t told_ns = 0;  // of own_ns(), what lists of consumers hold or began after

 private:
  Process() = default;
  std::optional<ProcessStat> read_stat(const Reading& reading, Access& access) noexcept;
  [[nodiscard]] bool is_recent(const Reading& reading) const noexcept;
  void update_io(const Reading& reading) noexcept;

  pid_t pid_ = 0;
  std::int64_t start_ticks_ = -1;  // -1: not read so far
  ProcessFile stat_file_;
  ProcessFile io_file_;
  ProcessStat stat_;
  std::int64_t clock_ns_ = -1;
  std::int64_t own_ns_ = 0;
  FaultCounts own_faults_{};
  std::int64_t children_ns_before_ = 0;
  std::int64_t read_ns_ = 0;
  std::int64_t io_retry_ns_ = 0;
  Io io_state_ = Io::kNotYet;
  bool apart_ = false;
  Amounts held_;       // of one that is apart: what the sums have of it
  Amounts uncounted_;  // of one that isn't: of waited() and lost()
};

}  // namespace probe
