#include "tools/sample_loop.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <variant>

#include "base/clock.hpp"
#include "base/memory.hpp"
#include "base/process.hpp"
#include "base/socket.hpp"
#include "probe/sampler.hpp"
#include "record/marks.hpp"
#include "tools/budget.hpp"
#include "tools/death.hpp"
#include "tools/disk.hpp"
#include "tools/guard.hpp"
#include "tools/monitors.hpp"
#include "tools/outbox.hpp"
#include "tools/schedule.hpp"
#include "tools/stack_requests.hpp"
#include "tools/suspension.hpp"
#include "tools/version.hpp"

namespace tools {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kLookForRootNs = kSecondNs / 2;
constexpr std::int64_t kMostNsUntilDeath = kSecondNs / 2;
constexpr int kMsBetweenLooks = 10;
constexpr std::int64_t kLeastHoleNs = kSecondNs / 2;  // shorter ones are late ticks, no gaps
constexpr std::size_t kMostMarksAtOnce = 64;
constexpr unsigned kMostSecondsToFinish = 2;
// A kernel that shows a summary waits for 50 ms, then reads the file: it must know by then.
constexpr std::int64_t kStalledNs = 25'000'000;
constexpr std::int64_t kLookAtDiskNs = 10'000'000;
constexpr std::int64_t kLookAtStalledDiskNs = 100'000'000;
constexpr std::int64_t kLeastConsumersNs = kSecondNs / 4;

volatile std::sig_atomic_t terminated = 0;

void take_signals() {
  struct sigaction action{};
  action.sa_handler = [](int) { terminated = 1; };
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;
  // SIGXFSZ: a limit of file sizes is then EFBIG, as a full disk.
  for (const int signal : {SIGINT, SIGHUP, SIGPIPE, SIGQUIT, SIGXFSZ}) {
    ::sigaction(signal, &action, nullptr);
  }
}

// Each process of the tree takes two descriptors.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

probe::SamplerOptions sampler_options(const LoopOptions& options) {
  probe::SamplerOptions result;
  result.root_pid = options.root_pid;
  result.excluded_pid = ::getpid();
  result.process_level = options.process_level;
  result.node_level = options.node_level;
  return result;
}

Monitors& add_monitors(probe::Sampler& sampler) {
  std::set<std::string, std::less<>> levels;
  for (const record::Column& column : sampler.columns()) {
    levels.insert(column.name.substr(0, column.name.find('.')));
  }
  auto monitors = std::make_unique<Monitors>(std::move(levels));
  Monitors& result = *monitors;
  sampler.add(std::move(monitors));
  return result;
}

class Loop {
 public:
  explicit Loop(const LoopOptions& options)
      : options_(options),
        sampler_(sampler_options(options)),
        monitors_(add_monitors(sampler_)),
        resume_(resume_point(recording_end_fd())),
        outbox_(sampler_.most_columns()),
        disk_(disk_options(), outbox_.queue()),
        schedule_(options.rate_hz, base::monotonic_ns()),
        guard_(options.root_pid),
        wished_hz_(schedule_.rate_hz()) {}

  int run() {
    write_beginning();
    take_sample(record::kEdgeSample, base::monotonic_ns());
    for (;;) {
      if (terminated != 0) return finish(std::nullopt);
      if (wait_for_something()) return finish(end_of_silent_root());
      if (close_asked_) {
        record::End end;
        end.time_ns = base::monotonic_ns();
        end.text = std::move(close_reason_);
        return finish(end);
      }
      const std::int64_t now_ns = base::monotonic_ns();
      if (root_has_ended(now_ns)) {
        const record::End end = root_end();  // first: soon somebody reaps it
        while (take_marks() && !marks_.empty()) {
        }
        return finish(end);
      }
      look_at_memory(now_ns);
      if (schedule_.is_due(now_ns)) tick(base::monotonic_ns());
      stack_requests_.send(options_.socket_fd, now_ns);
      outbox_.push_waiting();
      look_at_disk();
    }
  }

 private:
  [[nodiscard]] int recording_end_fd() const {
    return options_.spill_fd >= 0 ? options_.spill_fd : options_.recording_fd;
  }

  [[nodiscard]] DiskOptions disk_options() const {
    DiskOptions disk;
    disk.upkeep.recording_fd = options_.recording_fd;
    disk.upkeep.most_bytes = static_cast<std::size_t>(options_.most_bytes);
    if (options_.keep_days >= 0 && options_.keep_bytes >= 0) {
      disk.upkeep.limits = store::KeepLimits{options_.keep_days, options_.keep_bytes};
    }
    disk.spill_fd = options_.spill_fd;
    disk.spill_offset = static_cast<std::size_t>(std::max<std::int64_t>(options_.spill_offset, 0));
    disk.offset = resume_.offset;
    disk.sequence = resume_.sequence;
    disk.socket_fd = options_.socket_fd;
    return disk;
  }

  void write_beginning() {
    take_hello();
    push_machine();
    push(record::Schema{sampler_.columns()});
    push(record::Settings{base::monotonic_ns(), options_.rate_hz, {}});
    push_new_missing();
    if (resume_.last_row) {
      sampler_.seed(*resume_.last_row, resume_.schema.columns);
      push(record::Gap{
          resume_.last_row->time_ns, base::monotonic_ns(), record::GapReason::kSamplerLost, {}});
    }
  }

  // The first messages say who is apart and then what is recorded; they were sent before we were
  // started.
  void take_hello() {
    for (std::size_t count = 0; count < kMostMarksAtOnce; ++count) {
      const base::Received received = base::receive_message(options_.socket_fd, buffer_);
      if (received.status != base::Received::Status::kMessage) return;
      auto message = record::decode_message({buffer_.data(), received.size});
      if (!message) return;
      if (const auto* apart = std::get_if<record::Apart>(&*message)) {
        set_apart(*apart);
        continue;
      }
      auto* hello = std::get_if<record::Hello>(&*message);
      if (hello != nullptr) options_.label = std::move(hello->label);
      return;
    }
  }

  void set_apart(const record::Apart& apart) noexcept {
    sampler_.set_apart(static_cast<pid_t>(apart.pid), apart.start_ticks, apart.apart,
                       base::monotonic_ns());
  }

  void push_machine() {
    record::Machine machine = sampler_.machine();
    machine.time_ns = base::monotonic_ns();
    machine.wall_offset_ns = wall_offset_ns_ = base::wall_offset_ns();
    machine.jumper_version = kVersionText;
    machine.label = options_.label;
    machine.sampler_pid = ::getpid();
    root_start_ticks_ = machine.root_start_ticks;
    push(std::move(machine));
  }

  void push_new_missing() {
    const auto& missing = sampler_.missing();
    for (; missing_pushed_ < missing.size(); ++missing_pushed_) {
      push(missing[missing_pushed_]);  // time 0: it holds for the whole recording
    }
  }

  // True: leave, the kernel's end of the socket is gone.
  bool wait_for_something() {
    std::array<pollfd, 2> entries{
        {{options_.socket_fd, POLLIN, 0}, {options_.root_pidfd, POLLIN, 0}}};
    const std::int64_t now_ns = base::monotonic_ns();
    const std::int64_t next_ns = std::min(schedule_.next_ns(), guard_.next_ns());
    std::int64_t wait_ns = std::max<std::int64_t>(next_ns - now_ns, 0);
    if (options_.root_pidfd < 0) wait_ns = std::min(wait_ns, kLookForRootNs);
    // Somebody may wait for these marks: a look at the disk before the next tick.
    marks_unwritten_ = marks_unwritten_ && outbox_.has_unwritten();
    if (stalled_) {
      wait_ns = std::min(wait_ns, kLookAtStalledDiskNs);
    } else if (marks_unwritten_ || disk_.busy_since_ns() != 0) {
      wait_ns = std::min(wait_ns, kLookAtDiskNs);
    }
    if (stack_requests_.has_request()) {
      wait_ns = std::clamp<std::int64_t>(stack_requests_.next_ns() - now_ns, 0, wait_ns);
    }
    const timespec timeout{static_cast<time_t>(wait_ns / kSecondNs),
                           static_cast<long>(wait_ns % kSecondNs)};
    const int ready =
        ::ppoll(entries.data(), entries.size(), &timeout, stack_requests_.mask_to_wait_with());
    if (ready <= 0) return false;
    root_ended_ = entries[1].revents != 0;
    return entries[0].revents != 0 && !take_marks();
  }

  // Reads the marks that are there, takes one sample after those of cells, and writes them behind
  // it. False when the other end is gone.
  bool take_marks() {
    bool open = true;
    bool cells = false;
    marks_.clear();
    while (marks_.size() < kMostMarksAtOnce) {
      base::Received received = base::receive_message(options_.socket_fd, buffer_);
      open = received.status != base::Received::Status::kClosed;
      if (received.status != base::Received::Status::kMessage) break;
      const std::string_view bytes(buffer_.data(), received.size);
      auto message = record::decode_message(bytes);
      if (!message || received.truncated) continue;
      if (auto* begin = std::get_if<record::CellBegin>(&*message)) {
        if (received.descriptor.valid()) begin->source = source_from(received.descriptor.fd());
      }
      if (const auto* monitor = std::get_if<record::Monitor>(&*message)) {
        take_monitor(*monitor, std::move(received.descriptor));
        continue;
      }
      cells = cells || std::holds_alternative<record::CellBegin>(*message) ||
              std::holds_alternative<record::CellEnd>(*message);
      if (auto* close = std::get_if<record::Close>(&*message)) {
        close_asked_ = true;
        close_reason_ = close->reason;
      }
      if (const auto* apart = std::get_if<record::Apart>(&*message)) set_apart(*apart);
      marks_.push_back(std::move(*message));
    }
    if (cells) {
      marks_unwritten_ = true;
      sampler_.want_proportional();
      take_sample(record::kEdgeSample, base::monotonic_ns());
      push_consumers();
    }
    for (record::Message& mark : marks_) apply(mark);
    return open || close_asked_;
  }

  void take_monitor(const record::Monitor& monitor, base::File pipe) {
    if (pipe.valid()) {
      monitors_.add(monitor, std::move(pipe));
    } else {
      monitors_.remove(monitor.name);
    }
  }

  // What becomes of custom monitors: into the recording, and to the kernel.
  void push_monitor_news() {
    const std::int64_t now_ns = base::monotonic_ns();
    for (MonitorNews& news : monitors_.take_news()) {
      for (const std::string& level : news.levels) {
        const auto state =
            news.reason.empty() ? record::State::kMeasured : record::State::kVanished;
        push(record::Missing{now_ns, level + '.' + news.name, state, news.reason});
      }
      if (news.reason == kRemoved) continue;  // the kernel has asked for it
      untold_.push_back({std::move(news.name), std::move(news.reason)});
    }
    while (!untold_.empty()) {
      std::string bytes;
      record::encode_message(untold_.front(), bytes);
      if (base::send_message(options_.socket_fd, bytes) == base::SendResult::kFull) return;
      untold_.pop_front();
    }
  }

  // Who used what since the edge before; not where that was a moment ago, or one process is all.
  void push_consumers() {
    record::Consumers consumers = sampler_.take_consumers(last_sample_ns_);
    if (consumers.end_ns - consumers.begin_ns < kLeastConsumersNs) return;
    if (consumers.list.size() > 1 || consumers.others > 0 || consumers.others_cpu_time_ns > 0)
      push(std::move(consumers));
  }

  static std::string source_from(int fd) {
    if (!base::is_sealed(fd)) return {};
    std::string source(std::min(base::file_size(fd).value_or(0), record::kMostSourceBytes), '\0');
    source.resize(base::read_at(fd, source, 0).value_or(0));
    return source;
  }

  void apply(record::Message& mark) {
    if (auto* begin = std::get_if<record::CellBegin>(&mark)) {
      guard_.begin_cell();
      begin->sample_ns = last_sample_ns_;
      const record::Ack ack{begin->index, false, last_sample_ns_};
      push(std::move(*begin), ack);
    } else if (auto* end = std::get_if<record::CellEnd>(&mark)) {
      guard_.end_cell();
      end->sample_ns = last_sample_ns_;
      push(*end, record::Ack{end->index, true, last_sample_ns_});
    } else if (auto* group = std::get_if<record::Group>(&mark)) {
      push(std::move(*group));
    } else if (auto* guard = std::get_if<record::Guard>(&mark)) {
      guard_.set(*guard);
    } else if (const auto* visible = std::get_if<record::VisibleDevices>(&mark)) {
      sampler_.set_visible_devices(visible->set ? std::optional<std::string_view>(visible->list)
                                                : std::nullopt);
    } else if (auto* settings = std::get_if<record::Settings>(&mark)) {
      wished_hz_ = settings->rate_hz;
      budget_.forget_rate();
      set_rate();
    } else if (auto* stacks = std::get_if<record::Stacks>(&mark)) {
      if (stack_requests_.take_answer(base::monotonic_ns())) push(std::move(*stacks));
    }
  }

  void look_at_memory(std::int64_t now_ns) {
    auto near = guard_.look(now_ns);
    if (!near) return;
    // Who uses it now may be gone once the cell is stopped.
    take_sample(record::kEdgeSample, base::monotonic_ns());
    near->largest = sampler_.largest();
    std::string message;
    record::encode_message(*near, message);
    base::send_message(options_.socket_fd, message);
    push(*std::move(near));
  }

  void tick(std::int64_t now_ns) {
    const bool late = schedule_.advance(now_ns);
    const std::int64_t before_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    take_sample(late ? record::kLateSample : 0, now_ns);
    const std::int64_t cost_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    if (budget_.note(cost_ns, wished_hz_, now_ns)) {
      sampler_.set_lean(budget_.lean());
      set_rate();
    }
    if (sampler_.capacity_changed() || wall_clock_jumped(now_ns)) push_machine();
    push_new_missing();
    push_monitor_news();
  }

  void set_rate() {
    const std::int64_t now_ns = base::monotonic_ns();
    schedule_.set_rate(budget_.rate_hz(wished_hz_), now_ns);
    std::string reason;
    if (schedule_.rate_hz() < wished_hz_) {
      reason = fmt::format("{:g} Hz were asked for, and a tick costs too much", wished_hz_);
    } else if (budget_.lean()) {
      reason = "a tick costs too much: what is beyond tree and node is read once a second";
    }
    push(record::Settings{now_ns, schedule_.rate_hz(), std::move(reason)});
  }

  // Once a second: a wall clock that was set makes a new machine chunk with the new offset.
  bool wall_clock_jumped(std::int64_t now_ns) {
    if (now_ns - wall_looked_ns_ < kSecondNs) return false;
    wall_looked_ns_ = now_ns;
    constexpr std::int64_t kSlewNs = 50'000'000;
    return std::abs(base::wall_offset_ns() - wall_offset_ns_) > kSlewNs;
  }

  // `now_ns` is the row's time, and what its flags were judged by.
  void take_sample(std::uint8_t flags, std::int64_t now_ns) noexcept {
    note_hole(now_ns);
    if (auto gap = suspension_.note(now_ns, base::clock_ns(CLOCK_BOOTTIME))) push(*std::move(gap));
    last_sample_ns_ = now_ns;
    if (sampler_.columns_changed()) push(record::Schema{sampler_.columns()});
    for (record::Device& device : sampler_.take_devices()) {
      device.time_ns = now_ns;
      push(std::move(device));
    }
    const bool is_edge = (flags & record::kEdgeSample) != 0;
    outbox_.push_row(sampler_.columns().size(), now_ns, is_edge ? 0 : schedule_.period_ns(),
                     [&](record::Sample& sample) {
                       sample.flags = flags;
                       sampler_.tick(sample, now_ns);
                     });
  }

  void look_at_disk() {
    const std::int64_t busy_since_ns = disk_.busy_since_ns();
    const bool stalled = busy_since_ns != 0 && base::monotonic_ns() - busy_since_ns > kStalledNs;
    if (stalled == stalled_) return;
    std::string bytes;
    record::encode_message(record::Stalled{!stalled}, bytes);
    if (base::send_message(options_.socket_fd, bytes, -1) != base::SendResult::kFull) {
      stalled_ = stalled;
    }
  }

  void note_hole(std::int64_t now_ns) {
    const std::int64_t hole_ns = now_ns - last_sample_ns_;
    if (last_sample_ns_ == 0 || hole_ns < std::max(3 * schedule_.period_ns(), kLeastHoleNs)) return;
    push(record::Gap{last_sample_ns_, now_ns, record::GapReason::kSamplerStopped, {}});
  }

  void push(record::Record record, std::optional<record::Ack> ack = {}) {
    outbox_.push(std::move(record), ack);
  }

  bool root_has_ended(std::int64_t now_ns) {
    if (options_.root_pid <= 0) return false;
    if (options_.root_pidfd >= 0) return root_ended_;
    if (now_ns - root_looked_ns_ < kLookForRootNs) return false;
    root_looked_ns_ = now_ns;
    const auto stat = base::read_small_file(fmt::format("/proc/{}/stat", options_.root_pid), 4096);
    return !stat || zombie_wait_status(*stat, root_start_ticks_) >= 0;
  }

  record::End root_end() {
    record::End end = end_of(options_.root_pid, root_start_ticks_, options_.root_pidfd);
    if (end.cause != record::EndCause::kKilled || end.detail != SIGKILL) return end;
    auto out_of_memory = sampler_.out_of_memory();
    if (!out_of_memory) return end;
    out_of_memory->time_ns = end.time_ns;
    return *std::move(out_of_memory);
  }

  // The kernel's end of the socket is gone. As a rule the kernel has died: the system closes the
  // files of a process just before it says that it has ended. Else its own code has closed them.
  std::optional<record::End> end_of_silent_root() {
    const std::int64_t deadline_ns = base::monotonic_ns() + kMostNsUntilDeath;
    pollfd entry{options_.root_pidfd, POLLIN, 0};
    do {
      root_ended_ = ::poll(&entry, 1, kMsBetweenLooks) == 1;
      root_looked_ns_ = 0;
      if (root_has_ended(base::monotonic_ns())) return root_end();
    } while (terminated == 0 && base::monotonic_ns() < deadline_ns);
    return std::nullopt;
  }

  int finish(const std::optional<record::End>& end) {
    ::alarm(kMostSecondsToFinish);  // SIGALRM ends us: a disk that hangs keeps no process
    while (!outbox_.push_last(end)) {
      constexpr timespec kShortly{0, 5'000'000};
      ::nanosleep(&kShortly, nullptr);
    }
    return 0;  // ~Disk waits until it is written
  }

  LoopOptions options_;
  StackRequests stack_requests_;  // first: the threads that follow have its signal blocked
  probe::Sampler sampler_;
  Monitors& monitors_;  // one of its sources
  ResumePoint resume_;
  Outbox outbox_;
  Disk disk_;
  Schedule schedule_;
  Guard guard_;
  double wished_hz_;
  Budget budget_;
  Suspension suspension_;
  bool marks_unwritten_ = false;  // of cells, as far as known
  bool stalled_ = false;          // the kernel was told that the file system doesn't answer
  std::vector<record::Message> marks_;
  std::deque<record::MonitorState> untold_;
  std::vector<char> buffer_ = std::vector<char>(record::kMostMessageBytes);
  std::size_t missing_pushed_ = 0;
  std::int64_t last_sample_ns_ = 0;
  std::int64_t wall_offset_ns_ = 0;
  std::int64_t wall_looked_ns_ = 0;
  std::int64_t root_looked_ns_ = 0;
  std::int64_t root_start_ticks_ = 0;
  bool root_ended_ = false;
  bool close_asked_ = false;
  std::string close_reason_;
};

// Nobody reads our stderr: the kernel hears why there are no samples.
void tell_why(const LoopOptions& options, const std::string& reason) {
  std::string message;
  record::encode_message(record::Close{reason}, message);
  base::send_message(options.socket_fd, message);
}

}  // namespace

int run_sample_loop(const LoopOptions& options) {
  take_signals();
  raise_descriptor_limit();
  try {
    Loop loop(options);
    return loop.run();
  } catch (const std::exception& error) {
    tell_why(options, error.what());
    throw;
  }
}

}  // namespace tools
