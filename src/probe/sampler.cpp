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

constexpr std::array<std::string_view, 1 + kIoFields> kAmounts{
    "cpu_time_ns",  "io_read_bytes",      "io_write_bytes",     "io_read_ops",
    "io_write_ops", "storage_read_bytes", "storage_write_bytes"};

constexpr std::array<std::string_view, 9> kGauges{
    "process.memory_bytes", "process.memory_is_upper_bound", "process.rss_bytes",
    "process.pss_bytes",    "process.pss_time_ns",           "process.processes",
    "process.threads",      "process.capacity_millicores",   "process.capacity_memory_bytes"};

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
      capacity_(options.root, options.process_level ? options.root_pid : 0),
      node_(options.root, options.node_level, missing_),
      processes_(options.root, options.process_level ? options.root_pid : 0, options.excluded_pid,
                 missing_),
      buffer_(node_.buffer_bytes()) {
  if (options.process_level) {
    columns_ = process_columns();
    if (options.proportional) proportional_ = std::make_unique<Proportional>(options.root);
    if (!proportional_ || !proportional_->running()) {
      proportional_.reset();
      pss_bytes_ = unknown(State::kNotSupported);
      missing_.say("process.pss_bytes", State::kNotSupported,
                   options.proportional ? "no thread could be started to measure it"
                                        : "proportional sizes are switched off");
    }
  }
  if (options.node_level) {
    auto columns = node_.columns();
    std::ranges::move(columns, std::back_inserter(columns_));
  }
  own_columns_ = columns_.size();
  sources_ = make_sources(options, missing_);
  join_columns();
}

std::vector<Source*> Sampler::sources() const {
  std::vector<Source*> sources;
  for (const auto& source : sources_) sources.push_back(source.get());
  return sources;
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
  return true;
}

void Sampler::join_columns() {
  std::vector<Column> columns(columns_.begin(),
                              columns_.begin() + static_cast<std::ptrdiff_t>(own_columns_));
  for (const auto& source : sources_)
    std::ranges::copy(source->columns(), std::back_inserter(columns));
  columns_ = std::move(columns);
}

void Sampler::tick(record::Sample& sample, std::int64_t now_ns) noexcept {
  sample.time_ns = now_ns;
  const std::int64_t begin_ns = base::monotonic_ns();
  const std::span<record::Value> values(sample.values);
  if (values.size() != columns_.size()) return;
  const bool full = (sample.flags & record::kEdgeSample) != 0 || now_ns - full_ns_ >= kSecondNs;
  if (full) full_ns_ = now_ns;

  grow_buffer();
  node_.read_cores(buffer_);
  processes_.tick(node_.forks(), now_ns, buffer_);
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
    node_.fill(values.subspan(at, own_columns_ - at), capacity_, processes, buffer_);
  }
  std::size_t at = own_columns_;
  for (const auto& source : sources_) {
    const std::size_t count = source->columns().size();
    source->read(values.subspan(at, count), Turn{now_ns, full, buffer_});
    at += count;
  }
  sample.duration_ns = base::monotonic_ns() - begin_ns;
  sample.cpu_ns = base::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
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
  };
  put_amounts(processes_.total(), processes_.io_state());
  put_amounts(processes_.root_total(), processes_.root_io_state());

  std::int64_t resident = 0;
  std::int64_t memory = 0;
  std::int64_t processes = 0;
  std::int64_t threads = 0;
  for (const auto& process : processes_.list()) {
    if (process.zombie()) continue;
    const std::int64_t bytes = process.resident_bytes();
    resident += bytes;
    memory += bytes;
    if (process.measured) memory -= std::clamp<std::int64_t>(process.sharing_bytes, 0, bytes);
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
  const auto cores = static_cast<std::int64_t>(capacity_.affinity().size());
  put(cores > 0 ? cores * 1000 : unknown(State::kNotSupported));
  const std::int64_t capacity_bytes = capacity_.memory_bytes();
  put(capacity_bytes > 0 ? capacity_bytes : unknown(State::kNotSupported));
}

void Sampler::take_sizes() noexcept {
  if (!proportional_) return;
  const auto* measurement = proportional_->finished();
  if (measurement == nullptr) return;
  std::int64_t sum = 0;
  State worst = State::kMeasured;
  for (const auto& size : measurement->sizes) {
    if (size.state == State::kVanished) continue;
    if (size.state == State::kMeasured) {
      sum += size.proportional_bytes;
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
  } else {
    if (!record::is_known(pss_bytes_)) pss_bytes_ = unknown(worst);
    if (worst != State::kNotYet) {
      missing_.say("process.pss_bytes", worst,
                   "the proportional size of a process of the tree can't be read");
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
      list->sizes.push_back({process.pid(), process.start_ticks(), 0, 0, State::kNotYet});
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
      amounts.io[i] = value_of(prefix, kAmounts[i + 1]);
    }
    return amounts;
  };
  processes_.continue_from(amounts_of("process."), amounts_of("process.root_"));
}

}  // namespace probe
