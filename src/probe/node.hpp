#pragma once
// The node: cores, memory, storage, threads, from files that are kept open.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probe/capacity.hpp"
#include "probe/disks.hpp"
#include "probe/kernel_file.hpp"
#include "probe/load.hpp"
#include "probe/missing.hpp"
#include "probe/source.hpp"
#include "probe/storage.hpp"
#include "record/records.hpp"

namespace probe {

class Node {
 public:
  // Opens /proc/stat, and when `all` also meminfo, loadavg, diskstats and vmstat below `root`. What
  // isn't there or can't be read is said in `missing` and stays unknown.
  Node(const std::string& root, bool all, MissingList& missing);

  // The columns of level `node`, in the order of fill(). One for each core that was online when
  // this was made, by its real number.
  [[nodiscard]] std::vector<record::Column> columns() const;

  // Reads /proc/stat: fork count and cores. Once a tick, before fill().
  void read_cores(std::span<char> buffer) noexcept;
  // Processes and threads started since boot; nullopt when it can't be read.
  [[nodiscard]] std::optional<std::int64_t> forks() const noexcept { return forks_; }

  // Reads the rest and fills `values` (as many as columns()). `processes`: as listed. What is in
  // vmstat alone (faults, swapping; reading it costs 40 us) and the load (renewed by the kernel
  // every 5 s) are read on full turns only, and repeated between.
  void fill(std::span<record::Value> values, const Capacity& capacity, record::Value processes,
            const Turn& turn) noexcept;

  // What of the node's memory is used, as fill() has last read it.
  [[nodiscard]] record::Value memory_bytes() const noexcept { return memory_bytes_; }

  // How large a buffer the texts need now, with room to grow.
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }

 private:
  void measure_stat(std::vector<char>& buffer);
  void read_vmstat(std::span<char> buffer) noexcept;
  [[nodiscard]] std::array<record::Value, kDiskCounts> read_storage(const Turn& turn) noexcept;

  KernelFile stat_;
  KernelFile memory_;
  KernelFile load_;
  KernelFile vmstat_;
  std::optional<Disks> disks_;  // not when there is no list of disks: then vmstat tells
  std::size_t buffer_bytes_ = 0;
  std::optional<std::int64_t> forks_;
  std::vector<std::size_t> cores_;         // numbers, ascending
  std::vector<record::Value> core_ticks_;  // by number
  std::int64_t base_ticks_ = 0;
  record::Value busy_ticks_ = record::unknown(record::State::kNotYet);
  record::Value busy_before_ = record::unknown(record::State::kNotYet);
  record::Value steal_ticks_ = record::unknown(record::State::kNotYet);
  record::Value steal_before_ = record::unknown(record::State::kNotYet);
  record::Value switches_ = record::unknown(record::State::kNotYet);
  record::Value switches_before_ = record::unknown(record::State::kNotYet);
  record::Value running_ = record::unknown(record::State::kNotYet);
  record::Value memory_bytes_ = record::unknown(record::State::kNotYet);
  std::vector<record::Value> cores_before_;
  Vmstat faults_;                 // the last ones
  std::optional<Load> load_now_;  // the same
};

}  // namespace probe
