#include "probe/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/process.hpp"

namespace probe {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

std::int64_t page_bytes() noexcept {
  static const std::int64_t bytes = ::sysconf(_SC_PAGESIZE);
  return bytes;
}

// While a process is taken away it shows parent 0: pid_alive() in do_task_stat(), fs/proc/array.c.
pid_t parent_of(const ProcessStat& stat, pid_t before) noexcept {
  return stat.parent > 0 ? stat.parent : before;
}

}  // namespace

std::optional<Process> Process::open(pid_t pid, const Reading& reading) {
  Process process;
  process.pid_ = pid;
  if (!process.read(reading) || process.start_ticks_ < 0) return std::nullopt;
  process.children_ns_before_ = process.stat_.children_ns;
  process.was_zombie = process.zombie();
  return process;
}

std::optional<ProcessStat> Process::read_stat(const Reading& reading, Access& access) noexcept {
  const Text text = stat_file_.read(*reading.proc, ProcPath(pid_, "stat").text(), reading.buffer);
  access = text.access;
  if (access != Access::kRead) return std::nullopt;
  auto stat = parse_pid_stat(text.text);
  if (!stat) {
    access = Access::kFailed;
  } else if (start_ticks_ >= 0 && stat->start_ticks != start_ticks_) {
    access = Access::kGone;  // the number belongs to another process now
    stat.reset();
  }
  return stat;
}

bool Process::is_recent(const Reading& reading) const noexcept {
  constexpr std::int64_t kShares = 16;
  const std::int64_t more_ns = pid_ % kShares * (reading.recheck_spread_ns / kShares);
  return reading.now_ns - read_ns_ < reading.recheck_ns + more_ns;
}

bool Process::read(const Reading& reading) noexcept {
  // The clock first: when stat can be read after it, the number was still this process's.
  const std::int64_t clock = reading.use_clocks ? base::process_cpu_time_ns(pid_) : -1;
  children_ns_before_ = stat_.children_ns;
  cpu.begin_tick();
  for (auto& counter : io) counter.begin_tick();
  for (auto& counter : faults) counter.begin_tick();
  const bool idle = clock >= 0 && clock == clock_ns_;
  if (idle && is_recent(reading)) return true;
  Access access{};
  const auto stat = read_stat(reading, access);
  if (!stat) return access != Access::kGone;
  const ProcessStat before = stat_;
  stat_ = *stat;
  if (zombie()) stat_.resident_pages = before.resident_pages;
  stat_.parent = parent_of(*stat, before.parent);
  start_ticks_ = stat->start_ticks;
  own_ns_ = std::max(own_ns_, clock >= 0 ? clock : stat->own_ns);
  cpu.see(stat->children_ns);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    own_faults_[i] = std::max(own_faults_[i], stat->own_faults[i]);
    faults[i].see(stat->children_faults[i]);
  }
  clock_ns_ = clock;
  read_ns_ = reading.now_ns;
  // A zombie's is refused to everybody: the last one stays.
  if (!zombie() && !(idle && io_state_ == Io::kRead)) update_io(reading);
  return true;
}

bool Process::update_parent(const Reading& reading) noexcept {
  Access access{};
  const auto stat = read_stat(reading, access);
  if (!stat) return access != Access::kGone;
  // Nothing else: its counters may by now hold those of children that were read before.
  stat_.parent = parent_of(*stat, stat_.parent);
  return true;
}

void Process::update_io(const Reading& reading) noexcept {
  if (io_state_ == Io::kAbsent) return;
  if (io_state_ == Io::kRefused && reading.now_ns < io_retry_ns_) return;
  const Text text = io_file_.read(*reading.proc, ProcPath(pid_, "io").text(), reading.buffer);
  if (text.access == Access::kRead) {
    const auto counts = parse_pid_io(text.text);
    if (!counts) return;
    for (std::size_t i = 0; i < io.size(); ++i) io[i].see((*counts)[i]);
    io_state_ = Io::kRead;
    return;
  }
  if (text.access == Access::kFailed) return;
  // Refused, or not there: or has it just ended?
  Access access{};
  const auto stat = read_stat(reading, access);
  if (!stat || stat->zombie()) return;
  io_file_.close();
  io_state_ = text.access == Access::kRefused ? Io::kRefused : Io::kAbsent;
  io_retry_ns_ = reading.now_ns + kSecondNs;
}

std::optional<ProcessStat> Process::read_stat(const Reading& reading) noexcept {
  Access access{};
  return read_stat(reading, access);
}

std::optional<IoCounts> Process::read_io(const Reading& reading) noexcept {
  if (io_state_ != Io::kRead) return std::nullopt;
  const Text text = io_file_.read(*reading.proc, ProcPath(pid_, "io").text(), reading.buffer);
  return text.access == Access::kRead ? parse_pid_io(text.text) : std::nullopt;
}

bool Process::read_ignores_children(const Reading& reading) const noexcept {
  const base::File file =
      base::File::try_open_at(reading.proc->fd(), ProcPath(pid_, "status").text(), O_RDONLY);
  if (!file.valid()) return false;
  const auto ignored = parse_status_sigign(base::read_text(file.fd(), reading.buffer));
  return ignored && (*ignored >> (SIGCHLD - 1) & 1) != 0;
}

Amounts Process::waited() const noexcept {
  Amounts amounts;
  amounts.cpu_ns = own_ns_ + cpu.waited;
  for (std::size_t i = 0; i < io.size(); ++i) amounts.io[i] = io[i].waited;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    amounts.faults[i] = own_faults_[i] + faults[i].waited;
  }
  return amounts;
}

Amounts Process::lost() const noexcept {
  Amounts amounts;
  amounts.cpu_ns = cpu.lost;
  for (std::size_t i = 0; i < io.size(); ++i) amounts.io[i] = io[i].lost;
  for (std::size_t i = 0; i < faults.size(); ++i) amounts.faults[i] = faults[i].lost;
  return amounts;
}

Amounts Process::counted() const noexcept {
  if (apart_) return held_;
  Amounts all = waited();
  all += lost();
  return uncounted_.shortfall(all);
}

Amounts Process::uncounted() const noexcept {
  Amounts all = waited();
  all += lost();
  return counted().shortfall(all);
}

void Process::leave_sums(bool is_new) noexcept {
  held_ = is_new ? Amounts{} : counted();
  apart_ = true;
}

void Process::join_sums() noexcept {
  uncounted_ = uncounted();
  apart_ = false;
  told_ns = own_ns_;
}

std::int64_t Process::resident_bytes() const noexcept {
  return stat_.resident_pages * page_bytes();
}

std::int64_t Process::memory_bytes() const noexcept {
  const std::int64_t bytes = resident_bytes();
  return measured ? bytes - std::clamp<std::int64_t>(sharing_bytes, 0, bytes) : bytes;
}

}  // namespace probe
