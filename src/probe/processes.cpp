#include "probe/processes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kStartingNs = 2 * kSecondNs;  // far more than a start takes
constexpr std::size_t kSmallTree = 20;               // processes: above, one listing is cheaper
constexpr std::int64_t kSmallTreeThreads = 64;
constexpr int kMostAdopted = 256;  // in one look (25 us each); the rest at the next tick

constexpr std::array<std::string_view, kIoFields> kIoNames{
    "process.io_read_bytes", "process.io_write_bytes",     "process.io_read_ops",
    "process.io_write_ops",  "process.storage_read_bytes", "process.storage_write_bytes"};

constexpr std::size_t kMostHidden = 16;  // are remembered
constexpr std::size_t kMostApart = 16;   // the same

bool is_there(pid_t pid) noexcept { return ::kill(pid, 0) == 0 || errno == EPERM; }

}  // namespace

Processes::Processes(const std::string& root, pid_t root_pid, pid_t excluded_pid,
                     MissingList& missing)
    : proc_(root),
      root_pid_(root_pid),
      excluded_pid_(excluded_pid),
      missing_(&missing),
      listing_(proc_),
      family_(root_pid),
      hidden_note_(missing, {"process"}, record::State::kNotPermitted,
                   "a process of the tree can't be read"),
      io_note_(missing, {"process.io", "process.storage"}, record::State::kNotPermitted,
               "the I/O of a process of the tree isn't counted: not permitted") {
  if (root_pid_ <= 0) return;
  std::vector<char> buffer(1 << 16);
  const Reading reading{&proc_, buffer, proc_.has_our_numbers(), base::monotonic_ns()};
  if (proc_.valid()) adopt(root_pid_, reading);
  if (list().empty()) {
    throw base::Error("cannot watch process", std::to_string(root_pid_),
                      "there is no such process, or it can't be seen");
  }
  root_start_ticks_ = list().front().start_ticks();
  root_leads_session_ = list().front().session() == root_pid_;
  look_at_children(reading);
  do {
    adopted_ = 0;
    unfinished_ = true;
    look_at_listing(reading);
  } while (adopted_ >= kMostAdopted);
  unfinished_ = false;
  look_at_hidden(reading.now_ns);
  add_up(reading.now_ns);
  consumers_.begin(list(), total_.cpu_ns, reading.now_ns);
}

Process* Processes::root() noexcept {
  Process* root = find(root_pid_);
  return root != nullptr && root->start_ticks() == root_start_ticks_ ? root : nullptr;
}

Process* Processes::find(pid_t pid) noexcept {
  Process* process = family_.find(pid);
  return process != nullptr && !process->apart() ? process : nullptr;
}

void Processes::tick(std::optional<std::int64_t> forks, std::int64_t now_ns, std::span<char> buffer,
                     bool list_all) noexcept {
  const Reading reading{&proc_, buffer, proc_.has_our_numbers(), now_ns};
  ticked_ = true;
  read_again(reading);
  try {
    look(forks, reading, list_all);
  } catch (const std::exception&) {
    unfinished_ = true;  // no memory for new processes: the next tick looks again
  }
  look_at_hidden(now_ns);
  add_up(now_ns);
}

void Processes::read_again(const Reading& reading) noexcept {
  family_.read_all(reading);
  family_.settle_ended(reading);
  if (!family_.loss().empty()) {
    missing_->say_again("process", record::State::kMeasured, family_.loss(), reading.now_ns);
  }
  for (const auto& process : list()) {
    if (process.ended) consumers_.note_ended(process);
  }
  family_.remove_ended();
}

void Processes::set_apart(pid_t pid, std::int64_t start_ticks, bool apart, std::int64_t now_ns,
                          std::span<char> buffer) noexcept {
  const auto is_named = [&](const Named& one) {
    return one.pid == pid && one.start_ticks == start_ticks;
  };
  if (root_pid_ <= 0 || (pid == root_pid_ && start_ticks == root_start_ticks_)) return;
  const Reading reading{&proc_, buffer, proc_.has_our_numbers(), now_ns};
  read_again(reading);
  std::erase_if(apart_, is_named);
  adopted_ = 0;
  try {
    if (apart) {
      if (apart_.size() >= kMostApart) apart_.erase(apart_.begin());
      apart_.push_back({pid, start_ticks});
      adopt(pid, reading);  // before a tick finds it, so that it is in no sum
    } else {
      look_at_children(reading);  // theirs have used what they have apart, too
    }
  } catch (const std::exception&) {
    unfinished_ = true;
  }
  const Process* process = family_.find(pid);
  if (process != nullptr && process->start_ticks() == start_ticks) {
    family_.set_apart(*process, apart, !ticked_);
  }
  if (!ticked_) total_ = {};
  add_up(now_ns);
}

bool Processes::is_apart(const Process& process) const noexcept {
  return std::ranges::any_of(apart_, [&](const Named& one) {
    return one.pid == process.pid() && one.start_ticks == process.start_ticks();
  });
}

void Processes::look(std::optional<std::int64_t> forks, const Reading& reading, bool list_all) {
  const bool moved = !forks || forks != forks_;
  const bool all =
      reading.now_ns - listed_ns_ >= kSecondNs || (list_all && (!forks || forks != listed_forks_));
  if (!all && !unfinished_ && !moved) return;
  forks_ = forks;
  adopted_ = 0;
  // Children's files also show those that are hidden.
  const bool looked = moved && look_at_children(reading);
  if (all || unfinished_ || !looked) {
    listed_forks_ = forks;
    look_at_listing(reading);
  }
  unfinished_ = adopted_ >= kMostAdopted;
}

// False when it can't be done so, or not as cheaply as by a listing.
bool Processes::look_at_children(const Reading& reading) {
  std::int64_t threads = 0;
  const auto all = [this] { return family_.list(); };  // also children of those that are apart
  for (const auto& process : all()) threads += process.threads();
  if (all().size() > kSmallTree || threads > kSmallTreeThreads) {
    for (auto& process : all()) process.children.close();
    return false;
  }
  for (std::size_t i = 0; i < all().size(); ++i) {  // it grows meanwhile
    Process& process = all()[i];
    if (process.zombie()) continue;
    found_.clear();
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
  for (std::size_t before = 0; before != family_.list().size();) {
    before = family_.list().size();
    for (const auto& entry : listing_.entries()) {
      const bool by_parent = entry.parent > 0 && family_.contains(entry.parent);
      // By its session: the topmost first, so that parents stay before their children.
      const bool by_session =
          !by_parent && is_of_root(entry.session) && !is_of_root(listing_.session_of(entry.parent));
      if (by_parent || by_session) adopt(entry.pid, reading);
    }
  }
}

void Processes::adopt(pid_t pid, const Reading& reading) {
  if (pid == excluded_pid_ || adopted_ >= kMostAdopted || family_.contains(pid)) return;
  auto process = Process::open(pid, reading);
  if (!process) return note_hidden(pid);
  const bool is_root = family_.generation() == 0;  // the first of all
  if (!is_root && !family_.contains(process->parent()) &&
      (process->parent() == excluded_pid_ || !is_of_root(process->session()))) {
    return;  // the number is somebody else's now
  }
  // So begins what base::start_hidden() starts, as a sampler; its child is met as this one's only.
  // Whoever stays so is a process of the user's.
  const std::int64_t since_ns = process->start_ticks() * kTickNs;
  if (!is_root && process->silent() && base::clock_ns(CLOCK_BOOTTIME) - since_ns < kStartingNs) {
    return;
  }
  if (is_apart(*process)) process->leave_sums(true);
  family_.add(std::move(*process), reading);
  ++adopted_;
  std::erase(hidden_, pid);
}

// It is gone, as a rule. Else hidden (hidepid), or no descriptor is left.
void Processes::note_hidden(pid_t pid) {
  if (!proc_.has_our_numbers() || hidden_.size() >= kMostHidden) return;
  if (!is_there(pid) || std::ranges::find(hidden_, pid) != hidden_.end()) return;
  hidden_.push_back(pid);
}

void Processes::look_at_hidden(std::int64_t now_ns) noexcept {
  std::erase_if(hidden_, [](pid_t pid) { return !is_there(pid); });
  hidden_note_.set(!hidden_.empty(), now_ns);
}

record::Consumers Processes::take_consumers(std::int64_t now_ns) noexcept {
  return consumers_.take(list(), root_pid_, root_start_ticks_, total_.cpu_ns, now_ns);
}

void Processes::add_up(std::int64_t now_ns) noexcept {
  const Family::Sum sum = family_.sum();
  total_.raise_to(sum.amounts);
  if (const Process* root = this->root(); root != nullptr) {
    root_total_.raise_to(root->waited());
    root_io_state_ = root->io_state();
  }
  const bool read = sum.io_read || io_state_ == Process::Io::kRead;
  io_state_ = read             ? Process::Io::kRead
              : sum.io_refused ? Process::Io::kRefused
              : sum.io_absent  ? Process::Io::kAbsent
                               : Process::Io::kNotYet;
  const bool unread = sum.io_refused || sum.io_absent;
  io_note_.set(read && unread, now_ns);
  if (!read && unread) say_io_unread(sum.io_refused);
}

void Processes::continue_from(const Amounts& total, const Amounts& root_total) noexcept {
  // What the root's own counters had held is in them still; it was only known more exactly.
  // Where the tree's sums lie below it, the root has inherited from processes that were apart.
  if (Process* root = this->root(); root != nullptr) {
    root->cpu.see(root_total.cpu_ns - root->own_ns());
    root->inherit_uncounted(total.shortfall(root_total));
  }
  root_total_.raise_to(root_total);
  total_ = {};
  const std::int64_t now_ns = base::monotonic_ns();
  add_up(now_ns);
  family_.carry(total_.shortfall(total));  // the rest had ended
  add_up(now_ns);
  consumers_.begin(list(), total_.cpu_ns, now_ns);
}

void Processes::say_io_unread(bool refused) noexcept {
  if (std::exchange(said_io_unread_, true)) return;
  for (const auto name : kIoNames) {
    if (refused) {
      missing_->say(name, record::State::kNotPermitted, "the I/O of the process is another user's");
    } else {
      missing_->say(name, record::State::kNotSupported,
                    "this system keeps no account of a process's I/O (/proc/PID/io)");
    }
  }
}

}  // namespace probe
