#include "probe/users.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

#include "probe/process_stat.hpp"

namespace probe {
namespace {

using record::Kind;
using record::State;
using record::unknown;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kRecheckNs = 16 * kSecondNs;
constexpr std::size_t kMostAdopted = 256;  // in one look (20 us each), after the first
constexpr std::uint32_t kSeldom = 64;      // looks between two at a stranger

// At the first look, and at the second, fourth, eighth … after: who logs in starts as root.
bool is_due(std::uint32_t looks, pid_t pid) noexcept {
  if (looks < kSeldom) return std::has_single_bit(looks);
  return (looks + static_cast<std::uint32_t>(pid)) % kSeldom == 0;
}

}  // namespace

Users::Users(const std::string& root, pid_t root_pid, const Listing& listing,
             const Capacity& capacity, MissingList& missing)
    : proc_(root, false),
      listing_(listing),
      capacity_(capacity),
      missing_(missing),
      columns_{{"user.cpu_time_ns", Kind::kCounter},
               {"user.io_read_bytes", Kind::kCounter},
               {"user.io_write_bytes", Kind::kCounter},
               {"user.io_read_ops", Kind::kCounter},
               {"user.io_write_ops", Kind::kCounter},
               {"user.storage_read_bytes", Kind::kCounter},
               {"user.storage_write_bytes", Kind::kCounter},
               {"user.memory_bytes", Kind::kGauge},
               {"user.memory_is_upper_bound", Kind::kGauge},
               {"user.processes", Kind::kGauge},
               {"user.threads", Kind::kGauge},
               {"user.capacity_millicores", Kind::kGauge},
               {"user.capacity_memory_bytes", Kind::kGauge}},
      io_note_(missing, {"user.io", "user.storage"}, State::kNotPermitted,
               "the I/O of a process of the user isn't counted: not permitted") {
  std::vector<char> buffer(1 << 14);
  if (root_pid > 0) {
    user_ = real_user(root_pid, buffer);
  } else {
    user_ = ::getuid();
  }
  values_.fill(unknown(user_ ? State::kNotYet : State::kNotSupported));
  if (!user_) {
    missing.say("user", State::kNotSupported, "whose process is watched can't be read");
  }
}

std::optional<uid_t> Users::real_user(pid_t pid, std::span<char> buffer) const noexcept {
  const base::File file =
      base::File::try_open_at(proc_.fd(), ProcPath(pid, "status").text(), O_RDONLY);
  return file.valid() ? parse_status_uid(base::read_text(file.fd(), buffer)) : std::nullopt;
}

void Users::read(std::span<record::Value> values, const Turn& turn) noexcept {
  if (values.size() != kColumns) return;
  if (turn.full && user_) {
    const Reading reading{&proc_,      turn.buffer, proc_.has_our_numbers(),
                          turn.now_ns, kRecheckNs,  kRecheckNs};
    family_.read_all(reading);
    family_.settle_ended(reading);
    if (!family_.loss().empty()) {
      missing_.say_again("user", State::kMeasured, family_.loss(), turn.now_ns);
    }
    family_.remove_ended();
    try {
      look(reading);
    } catch (const std::exception&) {
      fresh_.clear();  // no memory for new processes: the next look tries again
    }
    fill(turn.now_ns);
  }
  std::ranges::copy(values_, values.begin());
}

// The owner of the directory is the effective user, also of a process that must not be looked
// into (whose files are root's): task_dump_owner() in fs/proc/base.c.
bool Users::is_ours(const Listing::Entry& entry, std::span<char> buffer) noexcept {
  if (!proc_.has_our_numbers()) return real_user(entry.pid, buffer) == user_;
  struct stat status{};
  if (::fstatat(proc_.fd(), ProcPath(entry.pid, "").text(), &status, 0) != 0) return false;
  if (status.st_uid == *user_) return true;
  return family_.contains(entry.parent) && real_user(entry.pid, buffer) == user_;
}

void Users::look(const Reading& reading) {
  listed_.clear();
  fresh_.clear();
  auto before = known_.cbegin();
  for (const auto& entry : listing_.entries()) {
    while (before != known_.cend() && before->pid < entry.pid) ++before;
    Known known{entry.pid, entry.inode, 0, false};
    if (before != known_.cend() && before->pid == entry.pid && before->inode == entry.inode) {
      known.looks = before->looks;
      known.kernel_thread = before->kernel_thread;
    }
    ++known.looks;
    if (!known.kernel_thread && !family_.contains(entry.pid) && is_due(known.looks, entry.pid) &&
        is_ours(entry, reading.buffer)) {
      if (looked_ && fresh_.size() >= kMostAdopted) {
        known.looks = 0;  // at the next look
      } else {
        fresh_.push_back({entry.pid, entry.parent});
      }
    }
    listed_.push_back(known);
  }
  std::swap(known_, listed_);
  looked_ |= !known_.empty();
  adopt_fresh(reading);
}

// Parents before their children, though a parent may have the higher number.
void Users::adopt_fresh(const Reading& reading) {
  const auto waits_for_parent = [&](const Fresh& one) {
    const auto parent = std::ranges::lower_bound(fresh_, one.parent, {}, &Fresh::pid);
    return parent != fresh_.end() && parent->pid == one.parent && !parent->adopted;
  };
  for (bool again = true; again;) {
    again = false;
    for (auto& one : fresh_) {
      if (one.adopted || waits_for_parent(one)) continue;
      one.adopted = again = true;
      auto process = Process::open(one.pid, reading);
      if (!process) continue;
      if (process->kernel_thread()) {
        note_kernel_thread(one.pid);
      } else {
        family_.add(std::move(*process), reading);
      }
    }
  }
}

void Users::note_kernel_thread(pid_t pid) noexcept {
  const auto known = std::ranges::lower_bound(known_, pid, {}, &Known::pid);
  if (known != known_.end() && known->pid == pid) known->kernel_thread = true;
}

void Users::fill(std::int64_t now_ns) noexcept {
  const Family::Sum sum = family_.sum();
  total_.raise_to(sum.amounts);
  io_read_ |= sum.io_read;
  const bool unread = sum.io_refused || sum.io_absent;
  io_note_.set(io_read_ && unread, now_ns);
  const record::Value no_io = unknown(sum.io_refused  ? State::kNotPermitted
                                      : sum.io_absent ? State::kNotSupported
                                                      : State::kNotYet);
  std::size_t at = 0;
  const auto put = [&](record::Value value) { values_[at++] = value; };
  put(total_.cpu_ns);
  for (const std::int64_t count : total_.io) put(io_read_ ? count : no_io);
  if (!io_read_ && unread) say_io_unread(sum.io_refused);

  std::int64_t memory_bytes = 0;
  std::int64_t processes = 0;
  std::int64_t threads = 0;
  for (const auto& process : family_.list()) {
    if (process.zombie()) continue;
    memory_bytes = std::min(memory_bytes + process.resident_bytes(), kMostNumber);
    threads = std::min(threads + process.threads(), kMostNumber);
    ++processes;
  }
  const bool none = processes == 0;
  put(none ? unknown(State::kVanished) : memory_bytes);
  put(none ? unknown(State::kVanished) : 1);
  put(processes);
  put(threads);
  const auto cores = static_cast<std::int64_t>(capacity_.online().size());
  put(cores > 0 ? cores * 1000 : unknown(State::kNotSupported));
  put(capacity_.memory_bytes() > 0 ? capacity_.memory_bytes() : unknown(State::kNotSupported));
}

void Users::say_io_unread(bool refused) noexcept {
  for (const std::string_view name : {"user.io", "user.storage"}) {
    if (refused) {
      missing_.say(name, State::kNotPermitted, "the I/O of the user's processes can't be read");
    } else {
      missing_.say(name, State::kNotSupported,
                   "this system keeps no account of a process's I/O (/proc/PID/io)");
    }
  }
}

}  // namespace probe
