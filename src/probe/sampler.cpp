#include "probe/sampler.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <string_view>

#include "base/clock.hpp"
#include "probe/sources.hpp"

namespace probe {
namespace {

using record::Column;
using record::Kind;
using record::State;
using record::unknown;

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Proportional sizes cost the process that is measured its memory lock, so: never more than 1 % of
// the time (at edges, and while the tree changes), else 0.1 %; of a process alone 0.01 %.
constexpr std::int64_t kPauseWanted = 100;  // times the last one's duration
constexpr std::int64_t kPause = 1000;
constexpr std::int64_t kPauseAlone = 10000;  // one process shares with strangers only: libraries
constexpr std::int64_t kPauseChangedNs = kSecondNs / 5;
constexpr std::int64_t kPauseNs = kSecondNs;

constexpr std::size_t kFirstIo = 1;
constexpr std::size_t kFirstFaults = kFirstIo + kIoFields;
constexpr std::array<std::string_view, kFirstFaults + kFaultFields> kAmounts{
    "cpu_time_ns",         "io_read_bytes", "io_write_bytes",
    "io_read_ops",         "io_write_ops",  "storage_read_bytes",
    "storage_write_bytes", "page_faults",   "major_page_faults"};

constexpr std::array<std::string_view, 10> kGauges{
    "process.memory_bytes", "process.memory_is_upper_bound", "process.rss_bytes",
    "process.pss_bytes",    "process.pss_time_ns",           "process.processes",
    "process.threads",      "process.capacity_millicores",   "process.capacity_memory_bytes",
    "process.swap_bytes"};

constexpr std::array<std::string_view, 2> kMeasuredSizes{"process.pss_bytes", "process.swap_bytes"};

constexpr std::size_t kProcessColumns = 2 * kAmounts.size() + kGauges.size();

std::vector<Column> process_columns() {
  std::vector<Column> columns;
  for (const std::string_view prefix : {"process.", "process.root_"}) {
    for (const auto name : kAmounts) {
      columns.push_back({std::string(prefix).append(name), Kind::kCounter});
    }
  }
  for (const auto name : kGauges) columns.push_back({std::string(name), Kind::kGauge});
  return columns;
}

State unread_state(Process::Io io) noexcept {
  switch (io) {
    case Process::Io::kRefused:
      return State::kNotPermitted;
    case Process::Io::kAbsent:
      return State::kNotSupported;
    default:
      return State::kNotYet;
  }
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options)
    : options_(options),
      processes_(options.root, options.process_level ? options.root_pid : 0, options.excluded_pid,
                 missing_),
      capacity_(options.root, options.process_level || options.job_level ? options.root_pid : 0,
                &missing_),
      oom_(options.root, options.process_level ? options.root_pid : 0, capacity_.cgroups()),
      node_(options.root, options.node_level, missing_),
      buffer_(node_.buffer_bytes()) {
  if (options.process_level) {
    columns_ = process_columns();
    if (options.proportional) proportional_ = std::make_unique<Proportional>(options.root);
    if (!proportional_ || !proportional_->running()) {
      proportional_.reset();
      pss_bytes_ = swap_bytes_ = unknown(State::kNotSupported);
      for (const std::string_view name : kMeasuredSizes) {
        missing_.say(name, State::kNotSupported,
                     options.proportional ? "no thread could be started to measure it"
                                          : "proportional sizes are switched off");
      }
    }
  }
  if (options.node_level) {
    auto columns = node_.columns();
    std::ranges::move(columns, std::back_inserter(columns_));
  }
  own_columns_ = columns_.size();
  sources_ = make_sources(options, capacity_, processes_.listing(), missing_);
  join_columns();
}

std::vector<Source*> Sampler::sources() const {
  std::vector<Source*> sources;
  sources.reserve(sources_.size());
  for (const auto& source : sources_) sources.push_back(source.get());
  return sources;
}

void Sampler::add(std::unique_ptr<Source> source) {
  sources_.push_back(std::move(source));
  join_columns();
}

std::size_t Sampler::most_columns() const noexcept {
  std::size_t most = own_columns_;
  for (const auto& source : sources_) most += source->most_columns();
  return most;
}

bool Sampler::columns_changed() noexcept {
  bool changed = false;
  for (const auto& source : sources_) changed = source->columns_changed() || changed;
  if (!changed) return false;
  try {
    join_columns();
  } catch (const std::exception&) {
    return false;  // no memory: ticks go on without (tick() checks the number)
  }
  full_ns_ = 0;  // the values of the sources behind it stand elsewhere now
  return true;
}

void Sampler::join_columns() {
  std::vector<Column> columns(columns_.begin(),
                              columns_.begin() + static_cast<std::ptrdiff_t>(own_columns_));
  for (const auto& source : sources_)
    std::ranges::copy(source->columns(), std::back_inserter(columns));
  source_values_.resize(columns.size() - own_columns_, unknown(State::kNotYet));
  columns_ = std::move(columns);
}

void Sampler::tick(record::Sample& sample, std::int64_t now_ns) noexcept {
  sample.time_ns = now_ns;
  const std::int64_t begin_ns = base::monotonic_ns();
  const std::span<record::Value> values(sample.values);
  if (values.size() != columns_.size()) return;
  const bool edge = (sample.flags & record::kEdgeSample) != 0;
  const bool full = (edge && !lean_) || now_ns - full_ns_ >= kSecondNs;
  if (full) full_ns_ = now_ns;

  grow_buffer();
  node_.read_cores(buffer_);
  processes_.tick(node_.forks(), now_ns, buffer_, full && options_.user_level);
  capacity_.look(now_ns);
  if (options_.process_level) {
    take_sizes();
    fill_process(values.first(kProcessColumns));
    start_measuring(now_ns);
  }
  if (options_.node_level) {
    const auto& listing = processes_.listing();
    record::Value processes = unknown(State::kNotYet);
    if (const auto count = listing.processes()) {
      processes = *count;
    } else if (!listing.entries().empty()) {
      processes = unknown(State::kNotPermitted);
      missing_.say("node.processes", State::kNotPermitted,
                   "/proc shows only some processes (hidepid)");
    }
    const std::size_t at = options_.process_level ? kProcessColumns : 0;
    node_.fill(values.subspan(at, own_columns_ - at), capacity_, processes,
               Turn{now_ns, full, buffer_});
  }
  if (options_.process_level && now_ns - told_ns_ >= kSecondNs) {
    told_ns_ = now_ns;
    tell_processes();
  }
  read_sources(values.subspan(own_columns_), Turn{now_ns, full, buffer_});
  const std::int64_t total_bytes = capacity_.memory_bytes();
  oom_.look(capacity_.cgroups(), full, {node_.memory_bytes(), total_bytes}, buffer_);
  sample.duration_ns = base::monotonic_ns() - begin_ns;
  sample.cpu_ns = base::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

std::vector<record::Device> Sampler::take_devices() {
  std::vector<record::Device> devices;
  for (const auto& source : sources_)
    std::ranges::move(source->take_devices(), std::back_inserter(devices));
  return devices;
}

void Sampler::set_visible_devices(std::optional<std::string_view> list) {
  for (const auto& source : sources_) source->set_visible_devices(list);
}

void Sampler::tell_processes() noexcept {
  try {
    pids_.clear();
    for (const auto& process : processes_.list()) {
      if (!process.zombie()) pids_.push_back(process.pid());
    }
  } catch (const std::exception&) {
    return;  // no memory: later
  }
  for (const auto& source : sources_) source->set_processes(pids_);
}

void Sampler::read_sources(std::span<record::Value> values, const Turn& turn) noexcept {
  if (turn.full || !lean_) {
    std::size_t at = 0;
    for (const auto& source : sources_) {
      const std::size_t count = source->columns().size();
      if (turn.full || !source->seldom()) {
        source->read(std::span(source_values_).subspan(at, count), turn);
      }
      at += count;
    }
  }
  std::ranges::copy(source_values_, values.begin());
}

void Sampler::grow_buffer() noexcept {
  if (node_.buffer_bytes() <= buffer_.size()) return;
  try {
    buffer_.resize(node_.buffer_bytes());
  } catch (const std::exception&) {
    return;  // no memory: the end of a longer /proc/stat stays unread
  }
}

void Sampler::fill_process(std::span<record::Value> values) noexcept {
  std::size_t at = 0;
  const auto put = [&](record::Value value) { values[at++] = value; };
  const auto put_amounts = [&](const Amounts& amounts, Process::Io io) {
    put(amounts.cpu_ns);
    const bool read = io == Process::Io::kRead;
    for (const std::int64_t count : amounts.io) put(read ? count : unknown(unread_state(io)));
    for (const std::int64_t count : amounts.faults) put(count);
  };
  put_amounts(processes_.total(), processes_.io_state());
  put_amounts(processes_.root_total(), processes_.root_io_state());

  std::int64_t resident = 0;
  std::int64_t memory = 0;
  std::int64_t processes = 0;
  std::int64_t threads = 0;
  for (const auto& process : processes_.list()) {
    if (process.zombie()) continue;
    resident += process.resident_bytes();
    memory += process.memory_bytes();
    ++processes;
    threads += process.threads();
  }
  const bool gone = processes == 0;
  const bool upper_bound = !complete_ || measured_generation_ != processes_.generation();
  put(gone ? unknown(State::kVanished) : memory);
  put(gone ? unknown(State::kVanished) : static_cast<record::Value>(upper_bound));
  put(gone ? unknown(State::kVanished) : resident);
  put(pss_bytes_);
  put(pss_time_ns_);
  put(processes);
  put(threads);
  const Usable& usable = capacity_.usable();
  put(usable.millicores > 0 ? usable.millicores : unknown(State::kNotSupported));
  put(usable.memory_bytes > 0 ? usable.memory_bytes : unknown(State::kNotSupported));
  put(swap_bytes_);
}

void Sampler::take_sizes() noexcept {
  if (!proportional_) return;
  const auto* measurement = proportional_->finished();
  if (measurement == nullptr) return;
  std::int64_t sum = 0;
  record::Value swap = 0;
  State worst = State::kMeasured;
  for (const auto& size : measurement->sizes) {
    if (size.state == State::kVanished) continue;
    if (size.state == State::kMeasured) {
      sum += size.proportional_bytes;
      if (!record::is_known(size.swap_bytes)) {
        swap = size.swap_bytes;
      } else if (record::is_known(swap)) {
        swap += size.swap_bytes;
      }
    } else {
      worst = size.state;
    }
    Process* process = processes_.find(size.pid);
    if (process == nullptr || process->start_ticks() != size.start_ticks) continue;
    process->measured = size.state == State::kMeasured;
    process->sharing_bytes = size.resident_bytes - size.proportional_bytes;
  }
  complete_ = worst == State::kMeasured;
  measured_generation_ = measurement->generation;
  measured_ns_ = measurement->end_ns;
  took_ns_ = measurement->end_ns - measurement->begin_ns;
  if (complete_) {
    pss_bytes_ = sum;
    pss_time_ns_ = measurement->end_ns;
    swap_bytes_ = swap;
    if (!record::is_known(swap)) {
      missing_.say("process.swap_bytes", State::kNotSupported,
                   "this system doesn't say what of a process is swapped out");
    }
  } else {
    if (!record::is_known(pss_bytes_)) pss_bytes_ = unknown(worst);
    if (!record::is_known(swap_bytes_)) swap_bytes_ = unknown(worst);
    if (worst != State::kNotYet) {
      for (const std::string_view name : kMeasuredSizes) {
        missing_.say(name, worst, "the proportional size of a process of the tree can't be read");
      }
    }
  }
  proportional_->done_with();
}

void Sampler::start_measuring(std::int64_t now_ns) noexcept {
  if (!proportional_) return;
  const std::int64_t pause_ns = now_ns - measured_ns_;
  const bool changed = measured_generation_ != processes_.generation();
  const std::int64_t pause = processes_.list().size() == 1 ? kPauseAlone : kPause;
  const bool due = wanted_ || (changed && pause_ns >= kPauseChangedNs) ||
                   (pause_ns >= kPauseNs && pause_ns >= pause * took_ns_);
  if (!due || pause_ns < kPauseWanted * took_ns_) return;
  auto* list = proportional_->idle_list();
  if (list == nullptr) return;
  try {
    list->sizes.clear();
    for (const auto& process : processes_.list()) {
      if (process.zombie()) continue;
      Proportional::Size size;
      size.pid = process.pid();
      size.start_ticks = process.start_ticks();
      list->sizes.push_back(size);
    }
  } catch (const std::exception&) {
    return;  // no memory: later
  }
  list->generation = processes_.generation();
  wanted_ = false;
  proportional_->start();
}

void Sampler::seed(const record::Sample& last,
                   const std::vector<record::Column>& columns) noexcept {
  const auto value_of = [&](std::string_view prefix, std::string_view name) -> std::int64_t {
    for (std::size_t i = 0; i < columns.size() && i < last.values.size(); ++i) {
      const std::string_view column = columns[i].name;
      if (column.size() != prefix.size() + name.size() || !column.starts_with(prefix) ||
          !column.ends_with(name)) {
        continue;
      }
      return std::clamp<std::int64_t>(last.values[i], 0, kMostNumber);
    }
    return 0;
  };
  const auto amounts_of = [&](std::string_view prefix) {
    Amounts amounts;
    amounts.cpu_ns = value_of(prefix, kAmounts[0]);
    for (std::size_t i = 0; i < amounts.io.size(); ++i) {
      amounts.io[i] = value_of(prefix, kAmounts[kFirstIo + i]);
    }
    for (std::size_t i = 0; i < amounts.faults.size(); ++i) {
      amounts.faults[i] = value_of(prefix, kAmounts[kFirstFaults + i]);
    }
    return amounts;
  };
  processes_.continue_from(amounts_of("process."), amounts_of("process.root_"));
}

}  // namespace probe
