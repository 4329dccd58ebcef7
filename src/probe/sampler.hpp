#pragma once
// The tick: everything that is read of the machine at one moment, into one sample. No loop and no
// recording; those are the program's.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probe/capacity.hpp"
#include "probe/edge.hpp"
#include "probe/missing.hpp"
#include "probe/node.hpp"
#include "probe/oom.hpp"
#include "probe/processes.hpp"
#include "probe/proportional.hpp"
#include "probe/source.hpp"
#include "record/records.hpp"

namespace probe {

struct SamplerOptions {
  std::string root = "/";  // where proc/ and sys/ lie; tests pass a captured tree
  pid_t root_pid = 0;      // whose tree is level `process`
  pid_t excluded_pid = 0;  // the sampler itself: never part of the tree, nor are its children
  bool process_level = true;
  bool user_level = true;
  bool job_level = true;
  bool node_level = true;
  bool proportional = true;  // measure proportional sizes, on a thread of its own
};

// All calls from one thread. A tick at 10 Hz costs about 150 us of CPU for a tree of one, 1.4 ms
// for 500 processes that sleep, 4.2 ms for 500 that run; it allocates only when new processes
// appear, takes no lock and logs nothing.
class Sampler {
 public:
  // Opens the files, looks for the tree. Throws base::Error only when root_pid isn't there; what
  // this machine doesn't have is in missing().
  explicit Sampler(const SamplerOptions& options);
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // What the values of a sample mean.
  [[nodiscard]] const std::vector<record::Column>& columns() const noexcept { return columns_; }
  // True when columns() has grown since the last call (a device was found): asked before each
  // tick, whose sample then has as many values. It never has more than most_columns().
  bool columns_changed() noexcept;
  [[nodiscard]] std::size_t most_columns() const noexcept;
  // One more source, behind the others; before the first tick.
  void add(std::unique_ptr<Source> source);
  // Devices that weren't told so far; once a tick.
  std::vector<record::Device> take_devices();
  // The sources beyond tree and node, in the order of their columns.
  [[nodiscard]] std::vector<Source*> sources() const;
  // Grows: lower bounds, refusals; each name once.
  [[nodiscard]] const std::vector<record::Missing>& missing() const noexcept {
    return missing_.list();
  }
  // As it is now. Label, version and the sampler's pid are the caller's to add.
  [[nodiscard]] record::Machine machine() const;
  // True when affinity, online cores, memory or a limit have changed since the last call (a tick
  // looks once a second): the caller writes a new Machine.
  bool capacity_changed() noexcept { return capacity_.changed(); }

  // Reads everything into `sample`, whose values have the size of columns(); `now_ns` = the time.
  // Sets all but `flags`, by which it knows an edge: there everything is read, else what is seldom
  // read once a second.
  void tick(record::Sample& sample, std::int64_t now_ns) noexcept;

  // The process has set its CUDA_VISIBLE_DEVICES anew; nullopt: unset.
  void set_visible_devices(std::optional<std::string_view> list);

  // See Processes::set_apart(); before seed() and between ticks.
  void set_apart(pid_t pid, std::int64_t start_ticks, bool apart, std::int64_t now_ns) noexcept {
    processes_.set_apart(pid, start_ticks, apart, now_ns, buffer_);
  }

  // True: sources beyond tree and node are read on full turns only, and repeat their values
  // between. For when a tick would cost too much.
  void set_lean(bool lean) noexcept { lean_ = lean; }

  // Which processes of the tree used most since the last call, or since this was made: at an edge,
  // right after the tick. Without level `process` nobody. Allocates the list.
  record::Consumers take_consumers(std::int64_t now_ns) noexcept {
    return processes_.take_consumers(now_ns);
  }

  // Who holds most memory, as of the last tick.
  [[nodiscard]] std::vector<record::Consumer> largest() const noexcept {
    return Consumers::largest(processes_.list());
  }

  // After the root process was killed by SIGKILL, at once: the end, when it was for want of memory.
  std::optional<record::End> out_of_memory() { return oom_.end(buffer_); }

  // A cell begins or ends: the next tick that may do so begins to measure proportional sizes, the
  // one after shows them.
  void want_proportional() noexcept { wanted_ = true; }

  // After a lost sampler, before the first tick: counters of level `process` go on from its last
  // sample, never below. (What ended processes had used, only it knew.)
  void seed(const record::Sample& last, const std::vector<record::Column>& columns) noexcept;

 private:
  void grow_buffer() noexcept;
  void fill_process(std::span<record::Value> values) noexcept;
  void take_sizes() noexcept;
  void start_measuring(std::int64_t now_ns) noexcept;
  void join_columns();
  void read_sources(std::span<record::Value> values, const Turn& turn) noexcept;
  void tell_processes() noexcept;

  SamplerOptions options_;
  MissingList missing_;
  Processes processes_;  // first: where descriptors are few, the tree has them
  Capacity capacity_;
  OomWatch oom_;
  Node node_;
  std::unique_ptr<Proportional> proportional_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<record::Column> columns_;
  std::size_t own_columns_ = 0;  // of tree and node; those of the sources follow
  std::int64_t full_ns_ = 0;     // when everything was read last
  bool lean_ = false;
  std::vector<record::Value> source_values_;  // as last read
  std::vector<pid_t> pids_;
  std::int64_t told_ns_ = 0;  // when the sources were given the processes
  std::vector<char> buffer_;

  // Of the last measurement of proportional sizes.
  record::Value pss_bytes_ = record::unknown(record::State::kNotYet);
  record::Value pss_time_ns_ = record::unknown(record::State::kNotYet);
  record::Value swap_bytes_ = record::unknown(record::State::kNotYet);
  std::uint64_t measured_generation_ = 0;
  bool complete_ = false;
  std::int64_t measured_ns_ = 0;  // when it ended
  std::int64_t took_ns_ = 0;
  bool wanted_ = true;
};

}  // namespace probe
