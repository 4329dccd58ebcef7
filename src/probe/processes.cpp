#include "probe/processes.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace probe {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kSmallTree = 20;  // processes: above, one listing is cheaper
constexpr std::int64_t kSmallTreeThreads = 64;
constexpr int kMostAdopted = 256;  // in one look (25 us each); the rest at the next tick

constexpr std::array<std::string_view, kIoFields> kIoNames{
    "process.io_read_bytes", "process.io_write_bytes",     "process.io_read_ops",
    "process.io_write_ops",  "process.storage_read_bytes", "process.storage_write_bytes"};

// CPU clocks go by the numbers of our own pid namespace; a /proc of another one shows others.
bool is_own_proc(const std::string& root) {
  if (root != "/") return false;
  std::array<char, 32> target{};
  const ssize_t size = ::readlink("/proc/self", target.data(), target.size());
  if (size <= 0) return false;
  return std::string_view(target.data(), static_cast<std::size_t>(size)) ==
         std::to_string(::getpid());
}

}  // namespace

Processes::Processes(const std::string& root, pid_t root_pid, pid_t excluded_pid,
                     MissingList& missing)
    : proc_(root),
      root_pid_(root_pid),
      excluded_pid_(excluded_pid),
      missing_(&missing),
      use_clocks_(is_own_proc(root)),
      listing_(proc_) {
  if (root_pid_ <= 0) return;
  std::vector<char> buffer(1 << 16);
  const Reading reading{&proc_, buffer, use_clocks_, base::monotonic_ns()};
  if (proc_.valid()) adopt(root_pid_, reading);
  if (list_.empty()) {
    throw base::Error("cannot watch process", std::to_string(root_pid_),
                      "there is no such process, or it can't be seen");
  }
  root_start_ticks_ = list_.front().start_ticks();
  root_leads_session_ = list_.front().session() == root_pid_;
  look_at_children(reading);
  do {
    adopted_ = 0;
    unfinished_ = true;
    look_at_listing(reading);
  } while (adopted_ >= kMostAdopted);
  unfinished_ = false;
  add_up();
}

Process* Processes::find(pid_t pid) noexcept {
  const auto place = places_.find(pid);
  return place == places_.end() ? nullptr : &list_[place->second];
}

Process* Processes::root() noexcept {
  Process* root = find(root_pid_);
  return root != nullptr && root->start_ticks() == root_start_ticks_ ? root : nullptr;
}

void Processes::tick(std::optional<std::int64_t> forks, std::int64_t now_ns,
                     std::span<char> buffer) noexcept {
  const Reading reading{&proc_, buffer, use_clocks_, now_ns};
  read_all(reading);
  settle_ended(reading);
  try {
    look(forks, reading);
  } catch (const std::exception&) {
    unfinished_ = true;  // no memory for new processes: the next tick looks again
  }
  add_up();
}

// Parents before children: a child that is waited for in between is then missed in its parent
// (and counted at the next tick) and not counted twice.
void Processes::read_all(const Reading& reading) noexcept {
  deaths_ = false;
  for (auto& process : list_) {
    process.ended = !process.read(reading);
    deaths_ |= process.ended || process.zombie() != process.was_zombie;
  }
}

void Processes::look(std::optional<std::int64_t> forks, const Reading& reading) {
  const bool all = reading.now_ns - listed_ns_ >= kSecondNs;
  if (!all && !unfinished_ && forks && forks == forks_) return;
  forks_ = forks;
  adopted_ = 0;
  if (all || unfinished_ || !look_at_children(reading)) look_at_listing(reading);
  unfinished_ = adopted_ >= kMostAdopted;
}

// False when it can't be done so, or not as cheaply as by a listing.
bool Processes::look_at_children(const Reading& reading) {
  std::int64_t threads = 0;
  for (const auto& process : list_) threads += process.threads();
  if (list_.size() > kSmallTree || threads > kSmallTreeThreads) {
    for (auto& process : list_) process.children.close();
    return false;
  }
  for (std::size_t i = 0; i < list_.size(); ++i) {  // it grows meanwhile
    if (list_[i].zombie()) continue;
    found_.clear();
    Process& process = list_[i];
    if (!process.children.read(proc_, process.pid(), process.threads(), reading.buffer, found_)) {
      return false;
    }
    for (const pid_t pid : found_) adopt(pid, reading);
  }
  return true;
}

void Processes::look_at_listing(const Reading& reading) {
  const bool recheck = reading.now_ns - listed_ns_ >= kSecondNs;
  if (recheck) listed_ns_ = reading.now_ns;
  const bool asked = listing_.refresh(reading.buffer, recheck);
  if (root_pid_ <= 0 || (!asked && !recheck && !unfinished_)) return;
  // A parent may have the higher number, so until nobody comes any more.
  for (std::size_t before = 0; before != list_.size();) {
    before = list_.size();
    for (const auto& entry : listing_.entries()) {
      const bool by_parent = entry.parent > 0 && places_.contains(entry.parent);
      // By its session: the topmost first, so that parents stay before their children.
      const bool by_session =
          !by_parent && is_of_root(entry.session) && !is_of_root(listing_.session_of(entry.parent));
      if (by_parent || by_session) adopt(entry.pid, reading);
    }
  }
}

void Processes::adopt(pid_t pid, const Reading& reading) {
  if (pid == excluded_pid_ || adopted_ >= kMostAdopted || places_.contains(pid)) return;
  auto process = Process::open(pid, reading);
  if (!process) {
    // Gone, as a rule. Else hidden (hidepid), or no descriptor is left.
    if (use_clocks_ && (::kill(pid, 0) == 0 || errno == EPERM)) {
      say_lower_bound("a process of the tree can't be read");
    }
    return;
  }
  Process* parent = find(process->parent());
  const bool is_root = generation_ == 0;  // the first of all
  if (parent == nullptr && !is_root &&
      (process->parent() == excluded_pid_ || !is_of_root(process->session()))) {
    return;  // the number is somebody else's now
  }
  if (parent != nullptr && !parent->has_children) {
    parent->has_children = true;
    parent->ignores_children = parent->read_ignores_children(reading);
  }
  if (list_.size() == list_.capacity()) list_.reserve(2 * list_.size() + 16);
  places_.emplace(pid, list_.size());
  list_.push_back(std::move(*process));  // can't fail any more
  ++adopted_;
  ++generation_;
}

void Processes::add_up() noexcept {
  Amounts sum = carried_;
  bool read = io_state_ == Process::Io::kRead;
  bool refused = false;
  bool absent = false;
  for (const auto& process : list_) {
    sum += process.waited();
    sum += process.lost();
    read |= process.io_state() == Process::Io::kRead;
    refused |= process.io_state() == Process::Io::kRefused;
    absent |= process.io_state() == Process::Io::kAbsent;
  }
  total_.raise_to(sum);
  if (const Process* root = this->root(); root != nullptr) {
    root_total_.raise_to(root->waited());
    root_io_state_ = root->io_state();
  }
  io_state_ = read      ? Process::Io::kRead
              : refused ? Process::Io::kRefused
              : absent  ? Process::Io::kAbsent
                        : Process::Io::kNotYet;
  if (refused || absent) say_io_unread(refused);
}

void Processes::continue_from(const Amounts& total, const Amounts& root_total) noexcept {
  // What the root's own counters had held is in them still; it was only known more exactly.
  if (Process* root = this->root(); root != nullptr) {
    root->cpu.see(root_total.cpu_ns - root->own_ns());
  }
  root_total_.raise_to(root_total);
  add_up();
  // The rest had ended.
  Amounts ended;
  ended.cpu_ns = std::max<std::int64_t>(total.cpu_ns - total_.cpu_ns, 0);
  for (std::size_t i = 0; i < ended.io.size(); ++i) {
    ended.io[i] = std::max<std::int64_t>(total.io[i] - total_.io[i], 0);
  }
  carried_ += ended;
  add_up();
}

void Processes::say_bounded(std::string_view name, std::string_view reason) noexcept {
  try {
    missing_->say(name, record::State::kMeasured, "lower bound: " + std::string(reason));
  } catch (const std::exception&) {
    return;  // no memory for it
  }
}

void Processes::say_lower_bound(std::string_view reason) noexcept {
  if (std::exchange(said_lower_bound_, true)) return;
  say_bounded("process.cpu_time_ns", reason);
  for (const auto name : kIoNames) say_bounded(name, reason);
}

void Processes::say_io_unread(bool refused) noexcept {
  if (std::exchange(said_io_unread_, true)) return;
  for (const auto name : kIoNames) {
    if (io_state_ == Process::Io::kRead) {
      say_bounded(name, "the I/O of a process of the tree isn't counted: not permitted");
    } else if (refused) {
      missing_->say(name, record::State::kNotPermitted, "the I/O of the process is another user's");
    } else {
      missing_->say(name, record::State::kNotSupported,
                    "this system keeps no account of a process's I/O (/proc/PID/io)");
    }
  }
}

}  // namespace probe
