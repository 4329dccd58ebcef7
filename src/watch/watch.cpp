#include "watch/watch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <system_error>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/socket.hpp"
#include "watch/ours.hpp"
#include "watch/sampler_command.hpp"
#include "watch/stack_text.hpp"

namespace watch {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kHourNs = 3600 * kSecondNs;
constexpr std::int64_t kLookMs = 1000;
constexpr std::int64_t kLongestDelayNs = 60 * kSecondNs;
constexpr std::size_t kMostStartsAnHour = 6;  // the first one and five more
constexpr std::chrono::milliseconds kMostTimeToClose{2000};
constexpr std::size_t kMostReasonBytes = 200;

}  // namespace

Watch::Watch(WatchOptions options, Place place)
    : options_(std::move(options)),
      where_(place.sentence),
      owner_(::getpid()),
      recording_(std::move(place.file), place.path),
      rate_hz_(options_.rate_hz),
      root_pidfd_(base::open_pidfd(owner_)),
      root_pidfd_identity_(base::identity_of(root_pidfd_.fd())) {
  if (!place.refusals.empty()) {
    warn(fmt::format("{} ({})", where_, fmt::join(place.refusals, "; ")));
  }
  const std::lock_guard lock(mutex_);  // our thread waits until there is a sampler
  if (start_thread()) start_sampler();
}

Watch::~Watch() {
  close();
  look_at_descriptors();
  recording_.let_go();
}

bool Watch::is_owner() const noexcept { return ::getpid() == owner_; }

bool Watch::is_live() const noexcept { return is_owner() && !closed_; }

std::int64_t Watch::begin(std::string_view source, std::optional<std::int64_t> execution_count) {
  if (!is_live()) return 0;
  record::CellBegin cell;
  cell.source = source.substr(0, record::kMostSourceBytes);
  cell.source_bytes = static_cast<std::int64_t>(source.size());
  cell.execution_count = execution_count.value_or(record::kNoExecutionCount);
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable() && base::monotonic_ns() >= restart_at_ns_ && start_thread()) {
    start_sampler();
  }
  take_messages();
  const std::int64_t index = cell.index = next_index_++;
  cell.counters = edge_.read();
  cell.time_ns = base::monotonic_ns();
  running_[index] = cell.time_ns;
  enqueue(std::move(cell));
  return index;
}

void Watch::end(std::int64_t index, record::Outcome outcome,
                std::optional<std::int64_t> execution_count, const record::EngineTimes& engine) {
  if (!is_live() || index <= 0) return;
  record::CellEnd cell;
  cell.engine = engine;
  cell.time_ns = base::monotonic_ns();
  const std::lock_guard lock(mutex_);
  take_messages();
  running_.erase(index);
  cell.counters = edge_.read();
  cell.index = index;
  cell.outcome = outcome;
  cell.execution_count = execution_count.value_or(record::kNoExecutionCount);
  enqueue(cell);
}

std::int64_t Watch::begin_group(std::string_view name) {
  if (!is_live()) return 0;
  const std::lock_guard lock(mutex_);
  if (group_is_open_) return 0;
  group_is_open_ = true;
  enqueue(record::Group{++groups_,
                        base::monotonic_ns(),
                        record::GroupStep::kBegun,
                        std::string(name.substr(0, record::kMostGroupNameBytes)),
                        {}});
  return groups_;
}

bool Watch::end_group(bool drop, const record::EngineTimes& engine) {
  if (!is_live()) return false;
  const std::lock_guard lock(mutex_);
  if (!std::exchange(group_is_open_, false)) return false;
  const auto step = drop ? record::GroupStep::kDropped : record::GroupStep::kEnded;
  enqueue(record::Group{groups_, base::monotonic_ns(), step, {}, engine});
  return true;
}

bool Watch::wait(std::int64_t index, std::int64_t timeout_ns) {
  if (!is_live()) return false;
  std::unique_lock lock(mutex_);
  return wait_until(timeout_ns, lock, [&] { return !pending_.has_end_of(index); });
}

bool Watch::flush(std::int64_t timeout_ns) {
  if (!is_live()) return false;
  std::unique_lock lock(mutex_);
  return wait_until(timeout_ns, lock, [&] { return pending_.empty(); });
}

bool Watch::wait_until(std::int64_t timeout_ns, std::unique_lock<std::mutex>& lock,
                       const std::function<bool()>& is_done) {
  take_messages();
  if (sampler_runs_ && !is_done()) {
    ++waiting_;
    wake_.wake();
    acknowledged_.wait_for(lock, std::chrono::nanoseconds(timeout_ns),
                           [&] { return !sampler_runs_ || is_done(); });
    --waiting_;
  }
  return sampler_runs_ && is_done();
}

void Watch::set_rate(double rate_hz) {
  if (!is_live()) return;
  const std::lock_guard lock(mutex_);
  rate_hz_ = rate_hz;
  settings_unsent_ = sampler_runs_;
  if (!send_settings()) wake_.wake();
}

void Watch::set_guard(double percent) {
  if (!is_live()) return;
  const std::lock_guard lock(mutex_);
  guard_percent_ = percent;
  settings_unsent_ = sampler_runs_;
  send_settings();
  wake_.wake();  // our thread listens from now on, or no more
}

void Watch::set_visible_devices(std::optional<std::string> list) {
  if (!is_live()) return;
  const std::lock_guard lock(mutex_);
  visible_devices_ = {list.has_value(), std::move(list).value_or(std::string())};
  settings_unsent_ = sampler_runs_;
  if (!send_settings()) wake_.wake();
}

void Watch::add_monitor(MonitorSpec spec) {
  if (!is_live()) return;
  const std::lock_guard lock(mutex_);
  monitors_.add(std::move(spec));
  if (!send_monitors()) wake_.wake();
}

bool Watch::remove_monitor(const std::string& name) {
  if (!is_live()) return false;
  const std::lock_guard lock(mutex_);
  const bool was_there = monitors_.remove(name);
  if (!send_monitors()) wake_.wake();
  return was_there;
}

std::vector<MonitorInfo> Watch::monitors() {
  if (!is_live()) return {};
  const std::lock_guard lock(mutex_);
  take_messages();
  return monitors_.list();
}

void Watch::set_apart(pid_t pid, bool apart) {
  if (!is_live()) return;
  const std::lock_guard lock(mutex_);
  if (!asides_.set(pid, apart)) return;
  if (sampler_runs_ && !send_asides()) wake_.wake();
}

std::optional<record::NearLimit> Watch::take_near_limit() {
  if (!is_live()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return std::exchange(near_limit_, std::nullopt);
}

WatchState Watch::state() const {
  WatchState state;
  if (!is_live()) {
    state.lost = "this process has no sampler of its own: it was forked, or the session is closed";
    return state;
  }
  const std::lock_guard lock(mutex_);
  if (sampler_runs_) state.sampler_pid = sampler_.pid;
  state.restarts = restarts_;
  state.lost = lost_;
  state.rate_hz = rate_hz_;
  state.where =
      spill_.valid() ? where_ + "; its newest part is in memory: " + spill_reason_ : where_;
  return state;
}

std::vector<std::string> Watch::take_warnings() {
  if (!is_owner()) return {};
  const std::lock_guard lock(mutex_);
  warn_of_stall();
  return std::exchange(warnings_, {});
}

std::vector<PendingCell> Watch::pending_cells() {
  if (!is_owner()) return {};
  const std::lock_guard lock(mutex_);
  if (!closed_) take_messages();
  return pending_.cells();
}

std::vector<record::Group> Watch::pending_groups() {
  if (!is_owner()) return {};
  const std::lock_guard lock(mutex_);
  return pending_.groups();
}

int Watch::recording_fd() {
  const std::lock_guard lock(mutex_);
  return recording_.lend();
}

std::string Watch::path() const {
  const std::lock_guard lock(mutex_);
  return recording_.path();
}

bool Watch::stalled() const {
  const std::lock_guard lock(mutex_);
  return recording_.stalled();
}

std::pair<int, std::size_t> Watch::spill() const {
  const std::lock_guard lock(mutex_);
  if (!spill_.valid()) return {-1, 0};
  return {spill_.fd(), static_cast<std::size_t>(spill_offset_)};
}

void Watch::close(std::string_view reason) {
  if (!is_owner()) return;
  const std::lock_guard one_at_a_time(close_mutex_);
  if (closed_) return;
  {
    std::unique_lock lock(mutex_);
    const auto ended = [&] { return !sampler_runs_; };
    look_at_descriptors();
    if (sampler_runs_ && !socket_.valid()) {
      acknowledged_.wait_for(lock, kMostTimeToClose / 2, ended);  // it was told to leave
    }
    // Cells that no sampler has written yet: one more for them, if there has been one at all.
    if (!sampler_runs_ && !pending_.empty() && restart_at_ns_ != 0 && start_thread()) {
      start_sampler();
    }
    closing_ = true;
    if (sampler_runs_) {
      send_pending();
      send(record::Close{std::string(reason.substr(0, kMostReasonBytes))});
      if (!acknowledged_.wait_for(
              lock, recording_.stalled() ? kMostTimeToClose / 2 : kMostTimeToClose, ended) &&
          sampler_.pidfd.valid()) {
        base::kill_by_pidfd(sampler_.pidfd.fd());
      }
    }
    stop_ = true;
    wake_.wake();
  }
  if (thread_.joinable()) thread_.join();
  closed_ = true;
}

// ---- with mutex_ held ----

void Watch::enqueue(record::Message mark) {
  pending_.add(std::move(mark));
  if (sampler_runs_ && !send_pending()) wake_.wake();
}

// False: the socket is full.
bool Watch::send_settings() {
  if (!settings_unsent_) return true;
  std::vector<record::Message> settings{record::Settings{base::monotonic_ns(), rate_hz_, {}},
                                        record::Guard{guard_percent_}};
  if (visible_devices_) settings.emplace_back(*visible_devices_);
  for (const record::Message& one : settings) {
    if (send(one) == base::SendResult::kFull) return false;
  }
  settings_unsent_ = false;
  return true;
}

bool Watch::send_monitors() {
  if (!sampler_runs_) return true;
  return monitors_.send(
      options_.program, root_pidfd_.fd(),
      [this](const record::Message& message, int descriptor) { return send(message, descriptor); });
}

// False: the socket is full.
bool Watch::send_asides() {
  return asides_.send([this](const record::Message& message) { return send(message); });
}

bool Watch::send_pending() {
  if (!send_settings() || !send_asides() || !send_monitors()) return false;
  return pending_.send([this](const record::Message& mark) { return send(mark); });
}

base::SendResult Watch::send(const record::Message& mark, int descriptor) {
  look_at_descriptors();
  if (!socket_.valid()) return base::SendResult::kClosed;
  std::string bytes;
  const auto* begin = std::get_if<record::CellBegin>(&mark);
  if (begin == nullptr || begin->source.size() <= record::kMostInlineSourceBytes) {
    record::encode_message(mark, bytes);
    return base::send_message(socket_.fd(), bytes, descriptor);
  }
  const base::File memory = base::make_sealed_memfd("jumper-source", begin->source);
  record::CellBegin without_source = *begin;
  // Without a memfd (no descriptor, no memory) what fits into the message goes: cut, not lost.
  without_source.source.resize(memory.valid() ? 0 : record::kMostInlineSourceBytes);
  record::encode_message(std::move(without_source), bytes);
  return base::send_message(socket_.fd(), bytes, memory.fd());
}

// The user's code may close all descriptors (as a daemon does), or some; their numbers may mean
// other files by now, so none of those is closed, read or written to.
void Watch::look_at_descriptors() {
  wake_.look();
  if (!is_ours(root_pidfd_, root_pidfd_identity_)) {
    static_cast<void>(root_pidfd_.release());
    root_pidfd_ = base::open_pidfd(owner_);
    root_pidfd_identity_ = base::identity_of(root_pidfd_.fd());
  }
  // The sampler has what is in memory, and puts it into the file at its end.
  if (!is_ours(spill_, spill_identity_)) static_cast<void>(spill_.release());
  for (auto& [spill, identity] : old_spills_) {
    if (!is_ours(spill, identity)) static_cast<void>(spill.release());
  }
  if (!sampler_runs_) return;
  if (!is_ours(sampler_.pidfd, pidfd_identity_)) {
    static_cast<void>(sampler_.pidfd.release());
    sampler_.pidfd = base::open_pidfd(sampler_.pid);
    if (base::identity_of(sampler_.pidfd.fd()) != pidfd_identity_) sampler_.pidfd.close();
  }
  if (is_ours(socket_, socket_identity_)) return;
  static_cast<void>(socket_.release());
  if (!sampler_.pidfd.valid()) return sampler_ended();
  // It leaves when it sees the end of its socket; but a forked child may hold that open.
  ::syscall(SYS_pidfd_send_signal, sampler_.pidfd.fd(), SIGTERM, nullptr, 0);
}

// False when the system has no thread left (or no memory for one): without it nobody would notice
// the sampler's end, so there is none either, until a cell begins and there is room again.
bool Watch::start_thread() {
  if (thread_.joinable()) return true;
  if (stop_) return false;
  try {
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
    return true;
  } catch (const std::system_error& error) {
    lost_ = "cannot start a thread: " + base::errno_text(error.code().value());
  }
  warn("cells are kept without samples: " + lost_);
  restart_at_ns_ = base::monotonic_ns() + kSecondNs;
  return false;
}

bool Watch::start_sampler() {
  restart_at_ns_ = 0;
  starts_ns_.push_back(base::monotonic_ns());
  if (options_.program.empty()) {
    lost_ = "the program 'jumper' was not found beside this Python; reinstall jumper-hpc";
    warn("cells are kept without samples: " + lost_);
    return false;
  }
  const int recording_fd = recording_.newest();
  if (recording_fd < 0) {
    lost_ = "the recording's descriptor was closed by this process's own code";
    warn("cells are kept without samples: " + lost_);
    return false;
  }
  try {
    auto [ours, theirs] = base::make_socket_pair();
    const SamplerCommand command =
        sampler_command(options_, owner_, rate_hz_,
                        {theirs.fd(), recording_fd, root_pidfd_.fd(), spill_.fd(), spill_offset_});
    socket_ = std::move(ours);
    socket_identity_ = base::identity_of(socket_.fd()).value_or(base::FileIdentity{});
    asides_.forget_sent();
    send_asides();
    send(record::Hello{options_.label});
    if (guard_percent_ > 0) send(record::Guard{guard_percent_});
    if (visible_devices_) send(*visible_devices_);
    settings_unsent_ = false;
    sampler_ = base::start_hidden(options_.program, command.arguments, command.descriptors);
  } catch (const base::Error& error) {
    socket_.close();
    lost_ = error.what();
    warn("cells are kept without samples: " + lost_);
    plan_restart();
    return false;
  }
  pidfd_identity_ = base::identity_of(sampler_.pidfd.fd());
  sampler_runs_ = true;
  lost_.clear();
  last_words_.clear();
  pending_.forget_sent();
  monitors_.begin_anew();
  send_pending();
  return true;
}

void Watch::plan_restart() {
  const std::int64_t now_ns = base::monotonic_ns();
  while (!starts_ns_.empty() && now_ns - starts_ns_.front() > kHourNs) starts_ns_.pop_front();
  if (starts_ns_.size() >= kMostStartsAnHour) {
    lost_ = "the sampler ended five times within an hour, no other one is started";
    if (!last_words_.empty()) lost_ += ": " + last_words_;
    warn("no more samples are taken: " + lost_);
    return;
  }
  const std::int64_t delay_ns = kSecondNs << std::min<std::size_t>(starts_ns_.size() - 1, 6);
  restart_at_ns_ = now_ns + std::min(delay_ns, kLongestDelayNs);
}

void Watch::sampler_ended() {
  if (!sampler_runs_) return;
  sampler_runs_ = false;
  recording_.set_stalled(false);
  socket_.close();
  sampler_.pidfd.close();
  pending_.forget_sent();
  acknowledged_.notify_all();
  if (closing_) return;
  ++restarts_;
  lost_ = "the sampler has ended, another one is about to start";
  if (!last_words_.empty()) {
    lost_ += ": " + last_words_;
    warn("no samples are taken until another sampler can: " + last_words_);
  } else {
    warn(
        fmt::format("the sampler (pid {}) ended unexpectedly; another one goes on, the gap is "
                    "marked in the recording",
                    sampler_.pid));
  }
  plan_restart();
  wake_.wake();
}

// As the stop button does it: where this process leads a group (every kernel does), its children in
// it are told, too.
void Watch::interrupt(record::NearLimit near) {
  const bool runs =
      std::ranges::any_of(running_, [&](const auto& cell) { return cell.second <= near.time_ns; });
  if (!runs || closing_) return;
  near_limit_ = std::move(near);
  ::kill(::getpgrp() == owner_ ? -owner_ : owner_, SIGINT);
}

void Watch::warn(std::string sentence) {
  if (std::find(warned_.begin(), warned_.end(), sentence) != warned_.end()) return;
  warned_.push_back(sentence);
  warnings_.push_back(std::move(sentence));
}

void Watch::warn_of_stall() {
  if (closed_ || !recording_.stalled()) return;
  take_messages();
  if (!recording_.stalled() || base::monotonic_ns() - stalled_since_ns_ < kSecondNs) return;
  warn(
      fmt::format("the file system of '{}' doesn't answer: what is measured is kept in memory "
                  "until it does",
                  recording_.path()));
}

// ---- our thread ----

void Watch::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const bool unsent = sampler_runs_ && (settings_unsent_ || asides_.has_unsent() ||
                                          monitors_.has_unsent() || pending_.has_unsent());
    const auto events = static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN);
    // Without a pidfd (before Linux 5.3) it is the socket that tells of the sampler's end. And who
    // can't wake us when somebody waits must find us listening.
    const bool listens = unsent || waiting_ > 0 || guard_percent_ > 0 || closing_ ||
                         !sampler_.pidfd.valid() || !wake_.works();
    std::array<pollfd, 3> entries{{{wake_.fd(), POLLIN, 0},
                                   {sampler_runs_ && listens ? socket_.fd() : -1, events, 0},
                                   {sampler_runs_ ? sampler_.pidfd.fd() : -1, POLLIN, 0}}};
    // A poll that goes on keeps files open which the user's code has closed: look now and then.
    std::int64_t timeout_ms = kLookMs;
    if (restart_at_ns_ != 0) {
      const std::int64_t left_ms = (restart_at_ns_ - base::monotonic_ns()) / 1'000'000 + 1;
      timeout_ms = std::clamp<std::int64_t>(left_ms, 0, kLookMs);
    }
    lock.unlock();
    ::poll(entries.data(), entries.size(), static_cast<int>(timeout_ms));
    lock.lock();
    if (stop_) break;
    look_at_descriptors();
    if (entries[0].revents != 0 && entries[0].fd == wake_.fd()) wake_.drain();
    take_messages();
    if (sampler_runs_ && sampler_.pidfd.valid() && base::has_ended(sampler_.pidfd.fd())) {
      take_messages();  // its last words
      sampler_ended();
    }
    if (stacks_asked_) {
      stacks_asked_ = false;
      lock.unlock();  // no cell waits for it
      const record::Stacks stacks = read_stacks(options_.stacks);
      lock.lock();
      if (stop_) break;
      if (sampler_runs_) send(stacks);
    }
    if (sampler_runs_) send_pending();
    if (restart_at_ns_ != 0 && base::monotonic_ns() >= restart_at_ns_ && !closing_) start_sampler();
  }
}

void Watch::take_messages() {
  std::array<char, 4096> buffer{};
  while (sampler_runs_) {
    look_at_descriptors();
    if (!socket_.valid()) return;
    base::Received received = base::receive_message(socket_.fd(), buffer);
    if (received.status == base::Received::Status::kEmpty) return;
    if (received.status == base::Received::Status::kClosed) return sampler_ended();
    auto message = record::decode_message({buffer.data(), received.size});
    if (message && !received.truncated) take(std::move(*message), std::move(received.descriptor));
  }
}

void Watch::take(record::Message message, base::File descriptor) {
  if (const auto* ack = std::get_if<record::Ack>(&message)) {
    recording_.set_stalled(false);  // it is written: the file system answers
    if (pending_.acknowledge(*ack)) acknowledged_.notify_all();
  } else if (auto* near = std::get_if<record::NearLimit>(&message)) {
    interrupt(std::move(*near));
  } else if (const auto* monitor = std::get_if<record::MonitorState>(&message)) {
    if (auto sentence = monitors_.take(*monitor)) warn(*std::move(sentence));
  } else if (auto* close = std::get_if<record::Close>(&message)) {
    last_words_ = std::move(close->reason);
  } else if (const auto* spill = std::get_if<record::Spill>(&message)) {
    if (spill_.valid()) old_spills_.emplace_back(std::move(spill_), spill_identity_);
    if (spill->over) return;
    if (!descriptor.valid()) return;
    spill_ = std::move(descriptor);
    spill_identity_ = base::identity_of(spill_.fd());
    spill_offset_ = spill->offset;
    spill_reason_ = spill->reason;
    warn(fmt::format("the recording goes on in memory: '{}' takes no more ({})", recording_.path(),
                     spill->reason));
  } else if (const auto* moved = std::get_if<record::Moved>(&message)) {
    take(*moved, std::move(descriptor));
  } else if (const auto* stalled = std::get_if<record::Stalled>(&message)) {
    take(*stalled);
  } else if (std::holds_alternative<record::AskStacks>(message)) {
    stacks_asked_ = true;
    wake_.wake();  // it may be a cell's thread that reads this
  }
}

void Watch::take(const record::Moved& moved, base::File descriptor) {
  const std::string before = recording_.path();
  switch (moved.reason) {
    case record::MoveReason::kRenamed:
      recording_.rename(moved.path);
      warn(fmt::format("the recording '{}' was renamed: it goes on in '{}'", before, moved.path));
      break;
    case record::MoveReason::kUnnamed:
      where_ = fmt::format("its file '{}' was deleted, and there can't be another: {}", before,
                           moved.text);
      warn(
          fmt::format("the recording '{}' was deleted, and there can't be another one ({}): it is "
                      "lost when the kernel ends",
                      before, moved.text));
      return;
    case record::MoveReason::kReplaced:
    case record::MoveReason::kThinned:
      if (!descriptor.valid()) return;
      recording_.move_to(std::move(descriptor), moved.path);
      if (moved.reason == record::MoveReason::kThinned) return;
      warn(
          fmt::format("the recording '{}' was deleted or replaced: all of it is in '{}', and goes "
                      "on there",
                      before, moved.path));
      break;
  }
  where_ = "recorded in " + moved.path;
}

void Watch::take(const record::Stalled& stalled) {
  recording_.set_stalled(!stalled.over);
  stalled_since_ns_ = base::monotonic_ns();
}

}  // namespace watch
