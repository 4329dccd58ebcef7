#pragma once
// /proc/PID/stat and /proc/PID/status: one process.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace probe {

// Page faults: all of them, and those that waited for a device.
enum FaultField : std::uint8_t { kPageFaults, kMajorPageFaults, kFaultFields };
using FaultCounts = std::array<std::int64_t, kFaultFields>;

// What a process calls itself (comm): 15 bytes of anything, longer ones are cut.
class ProcessName {
 public:
  ProcessName() noexcept = default;
  explicit ProcessName(std::string_view bytes) noexcept
      : size_(static_cast<std::uint8_t>(bytes.copy(bytes_.data(), bytes_.size()))) {}
  [[nodiscard]] std::string_view text() const noexcept { return {bytes_.data(), size_}; }

 private:
  std::array<char, 15> bytes_{};
  std::uint8_t size_ = 0;
};

struct ProcessStat {
  ProcessName name;
  char state = '?';
  bool kernel_thread = false;
  // Its parent won't hear of its end (clone(2) with no signal), and no other program runs in it so
  // far: execve(2) would have set the signal.
  bool silent = false;
  pid_t parent = 0;
  pid_t session = 0;             // 0: of another pid namespace, or it is just ending
  std::int64_t own_ns = 0;       // CPU time of its threads, in steps of 10 ms
  std::int64_t children_ns = 0;  // of the children it has waited for: two fields, each cut to 10 ms
  FaultCounts own_faults{};      // of its threads
  FaultCounts children_faults{};  // of the children it has waited for
  std::int64_t threads = 0;
  std::int64_t start_ticks = 0;  // since boot: with the number, its identity
  std::int64_t resident_pages = 0;

  // Ended, and nobody has waited for it. (A main thread that ended before the others shows Z too.)
  [[nodiscard]] bool zombie() const noexcept {
    return state == 'X' || (state == 'Z' && threads <= 1);
  }
};

// Parses /proc/PID/stat (proc(5), fields 2 to 24 and 38). The name in brackets may hold anything,
// also brackets, blanks and line ends, so the fields begin behind the last ')'. nullopt when a
// field that is needed is missing or isn't a number.
//
//   5854 (a) b)) S 1 5854 5854 0 -1 4194560 1292 8 0 0 12 3 4 1 20 0 1 0 10912 4026368 813 1844...
std::optional<ProcessStat> parse_pid_stat(std::string_view text) noexcept;

// The signals that the process ignores, from /proc/PID/status (proc(5)): bit n-1 = signal n.
//
//   SigIgn:	0000000000001000
std::optional<std::uint64_t> parse_status_sigign(std::string_view text) noexcept;

// The real user, from /proc/PID/status (real, effective, saved, file system).
//
//   Uid:	1000	1000	1000	1000
std::optional<uid_t> parse_status_uid(std::string_view text) noexcept;

// The largest resident size so far, in bytes, from /proc/PID/status; none for a zombie.
//
//   VmHWM:	    3480 kB
std::optional<std::int64_t> parse_status_vmhwm(std::string_view text) noexcept;

// The cores the process may use, still as text (parse_core_list), from /proc/PID/status; empty
// when it isn't there.
//
//   Cpus_allowed_list:	0-1
std::string_view parse_status_cores(std::string_view text) noexcept;

}  // namespace probe
