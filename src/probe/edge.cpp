#include "probe/edge.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <ctime>

#include "base/clock.hpp"
#include "probe/process_io.hpp"
#include "probe/process_stat.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

constexpr std::size_t kBufferBytes = 4096;

std::int64_t to_ns(const timeval& time) noexcept {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::int64_t>(time.tv_usec) * 1000;
}

State state_of(int error) noexcept {
  return error == EACCES || error == EPERM ? State::kNotPermitted : State::kNotSupported;
}

}  // namespace

bool EdgeReader::Watched::still_ours() const noexcept {
  struct stat now{};
  return file_.valid() && ::fstat(file_.fd(), &now) == 0 && now.st_dev == device_ &&
         now.st_ino == inode_;
}

int EdgeReader::Watched::fd() noexcept {
  if (still_ours()) return file_.fd();
  // The number isn't ours any more: never close it.
  static_cast<void>(file_.release());
  base::File file = base::File::try_open(path_, O_RDONLY);
  struct stat status{};
  if (!file.valid() || ::fstat(file.fd(), &status) != 0) return -1;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  file_ = std::move(file);
  return file_.fd();
}

void EdgeReader::Watched::close() noexcept {
  if (still_ours()) {
    file_.close();
  } else {
    static_cast<void>(file_.release());
  }
}

EdgeReader::EdgeReader() noexcept {
  io_.fd();
  status_.fd();
}

EdgeReader::~EdgeReader() {
  io_.close();
  status_.close();
}

record::EdgeCounters EdgeReader::read() noexcept {
  record::EdgeCounters counters;
  std::array<char, kBufferBytes> buffer;
  counters.cpu_time_ns = base::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  rusage children{};
  if (::getrusage(RUSAGE_CHILDREN, &children) == 0) {
    counters.children_cpu_time_ns = to_ns(children.ru_utime) + to_ns(children.ru_stime);
    counters.children_peak_bytes = children.ru_maxrss * 1024;
    counters.children_voluntary_switches = children.ru_nvcsw;
    counters.children_involuntary_switches = children.ru_nivcsw;
  }
  rusage own{};
  if (::getrusage(RUSAGE_SELF, &own) == 0) {
    counters.voluntary_switches = own.ru_nvcsw;
    counters.involuntary_switches = own.ru_nivcsw;
  }
  errno = 0;
  const auto io = parse_pid_io(base::read_text(io_.fd(), buffer));
  const record::Value no_io = unknown(state_of(errno));
  counters.io_read_bytes = io ? (*io)[kIoReadBytes] : no_io;
  counters.io_write_bytes = io ? (*io)[kIoWriteBytes] : no_io;
  counters.io_read_ops = io ? (*io)[kIoReadOps] : no_io;
  counters.io_write_ops = io ? (*io)[kIoWriteOps] : no_io;
  counters.storage_read_bytes = io ? (*io)[kStorageReadBytes] : no_io;
  counters.storage_write_bytes = io ? (*io)[kStorageWriteBytes] : no_io;
  // Not ru_maxrss: that goes on over exec, with the size of whoever started this process.
  errno = 0;
  const auto peak = parse_status_vmhwm(base::read_text(status_.fd(), buffer));
  counters.peak_bytes = peak ? *peak : unknown(state_of(errno));
  return counters;
}

}  // namespace probe
