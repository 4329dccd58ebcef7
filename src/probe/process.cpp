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

bool Process::read(const Reading& reading) noexcept {
  // The clock first: when stat can be read after it, the number was still this process's.
  const std::int64_t clock = reading.use_clocks ? base::process_cpu_time_ns(pid_) : -1;
  const bool recent = reading.now_ns - read_ns_ < kSecondNs;
  children_ns_before_ = stat_.children_ns;
  cpu.begin_tick();
  for (auto& counter : io) counter.begin_tick();
  if (clock >= 0 && clock == clock_ns_ && recent) return true;
  Access access{};
  const auto stat = read_stat(reading, access);
  if (!stat) return access != Access::kGone;
  stat_ = *stat;
  start_ticks_ = stat->start_ticks;
  own_ns_ = std::max(own_ns_, clock >= 0 ? clock : stat->own_ns);
  cpu.see(stat->children_ns);
  clock_ns_ = clock;
  read_ns_ = reading.now_ns;
  if (!zombie()) update_io(reading);  // a zombie's is refused to everybody: the last one stays
  return true;
}

bool Process::update_parent(const Reading& reading) noexcept {
  Access access{};
  const auto stat = read_stat(reading, access);
  if (!stat) return access != Access::kGone;
  // Nothing else: its counters may by now hold those of children that were read before.
  stat_.parent = stat->parent;
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

std::optional<std::int64_t> Process::read_children_ns(const Reading& reading) noexcept {
  Access access{};
  const auto stat = read_stat(reading, access);
  if (!stat) return std::nullopt;
  return stat->children_ns;
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
  Amounts amounts{own_ns_ + cpu.waited, {}};
  for (std::size_t i = 0; i < io.size(); ++i) amounts.io[i] = io[i].waited;
  return amounts;
}

Amounts Process::lost() const noexcept {
  Amounts amounts{cpu.lost, {}};
  for (std::size_t i = 0; i < io.size(); ++i) amounts.io[i] = io[i].lost;
  return amounts;
}

std::int64_t Process::resident_bytes() const noexcept {
  return stat_.resident_pages * page_bytes();
}

}  // namespace probe
