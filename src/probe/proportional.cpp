#include "probe/proportional.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>

#include "base/clock.hpp"
#include "base/process.hpp"
#include "probe/memory.hpp"
#include "probe/process_stat.hpp"

namespace probe {
namespace {

constexpr std::int64_t kMostPagesMoved = 64;
constexpr std::size_t kBufferBytes = 4096;  // both texts are shorter than 2 KiB

record::State state_of(int error) noexcept {
  switch (error) {
    case ENOENT:
    case ESRCH:
      return record::State::kVanished;
    case EACCES:
    case EPERM:
      return record::State::kNotPermitted;
    default:
      return record::State::kNotYet;
  }
}

// The resident size that the proportional one is to be compared with. As stat has it, since the
// tick compares with that, too: it is up to some pages a core off ("sloppy" in proc(5)), and the
// difference of two isn't. But a process that grows or shrinks meanwhile has one size in stat and
// another in the sum: then only the sum's own fits.
std::int64_t resident_bytes_of(const base::File& stat_file, const ProcessStat& before,
                               const MemorySizes& sizes, std::span<char> buffer) noexcept {
  const auto after = parse_pid_stat(base::read_text(stat_file.fd(), buffer));
  if (!after || std::abs(after->resident_pages - before.resident_pages) > kMostPagesMoved) {
    return sizes.resident_bytes;
  }
  return before.resident_pages * ::sysconf(_SC_PAGESIZE);
}

void measure_one(const ProcDirectory& proc, Proportional::Size& size,
                 std::span<char> buffer) noexcept {
  // One directory for both files: they are of the same process.
  const base::File directory =
      base::File::try_open_at(proc.fd(), ProcPath(size.pid, "").text(), O_PATH | O_DIRECTORY);
  const base::File stat_file = base::File::try_open_at(directory.fd(), "stat", O_RDONLY);
  const auto stat = parse_pid_stat(base::read_text(stat_file.fd(), buffer));
  if (!stat || stat->start_ticks != size.start_ticks || stat->zombie()) {
    size.state = record::State::kVanished;
    return;
  }
  const base::File file = base::File::try_open_at(directory.fd(), "smaps_rollup", O_RDONLY);
  if (!file.valid()) {
    // It is there (its stat is), so a missing file is a kernel before Linux 4.14.
    size.state = errno == ENOENT ? record::State::kNotSupported : state_of(errno);
    return;
  }
  const auto text = base::read_text(file.fd(), buffer);
  const auto sizes = parse_smaps_rollup(text);
  if (!sizes) {
    size.state = text.empty() ? state_of(errno) : record::State::kNotYet;
    return;
  }
  size.resident_bytes = resident_bytes_of(stat_file, *stat, *sizes, buffer);
  size.proportional_bytes = sizes->proportional_bytes;
  size.swap_bytes = sizes->swap_bytes;
  size.state = record::State::kMeasured;
}

}  // namespace

Proportional::Proportional(const std::string& root) : proc_(root) {
  const base::SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception&) {
    thread_ = std::thread();  // no more threads (EAGAIN), no memory: sizes stay resident ones
  }
}

Proportional::~Proportional() {
  if (!running()) return;
  turn_.store(kStop, std::memory_order_release);
  turn_.notify_one();
  thread_.join();
}

Proportional::Measurement* Proportional::idle_list() noexcept {
  return turn_.load(std::memory_order_acquire) == kIdle ? &measurement_ : nullptr;
}

void Proportional::start() noexcept {
  turn_.store(kMeasure, std::memory_order_release);
  turn_.notify_one();
}

const Proportional::Measurement* Proportional::finished() const noexcept {
  return turn_.load(std::memory_order_acquire) == kFinished ? &measurement_ : nullptr;
}

void Proportional::done_with() noexcept { turn_.store(kIdle, std::memory_order_release); }

void Proportional::run() noexcept {
  std::vector<char> buffer(kBufferBytes);
  for (;;) {
    const int turn = turn_.load(std::memory_order_acquire);
    if (turn == kStop) return;
    if (turn != kMeasure) {
      turn_.wait(turn, std::memory_order_acquire);
      continue;
    }
    measure(buffer);
    int expected = kMeasure;  // or kStop by now
    turn_.compare_exchange_strong(expected, kFinished, std::memory_order_acq_rel);
  }
}

void Proportional::measure(std::vector<char>& buffer) noexcept {
  measurement_.begin_ns = base::monotonic_ns();
  for (auto& size : measurement_.sizes) {
    if (turn_.load(std::memory_order_relaxed) == kStop) return;
    measure_one(proc_, size, buffer);
  }
  measurement_.end_ns = base::monotonic_ns();
}

}  // namespace probe
